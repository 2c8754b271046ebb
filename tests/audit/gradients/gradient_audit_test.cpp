// Gradients as outputs of an audit: verdicts, their independence, and what is refused.
#include "gqa/audit/gradients/gradient_audit.hpp"

#include <doctest/doctest.h>
#include <tbb/task_arena.h>

#include <limits>

#include "audit/filter_problems.hpp"
#include "audit/findings.hpp"
#include "audit/gradient_support.hpp"
#include "audit/outputs_support.hpp"
#include "gqa/audit/audit_outputs.hpp"
#include "support/errors.hpp"
#include "support/random.hpp"

using namespace gqa;
using gqa_test::Draw;
using test::audit_gradient;
using test::Findings;
using test::findings_of;

namespace {

AuditOptions options_of(Tolerance tolerance, bool filter = true) {
  AuditOptions options;
  options.tolerance = std::move(tolerance);
  options.use_filter = filter;
  // A weight that saturates leaves g.v - g.o to cancel below the smallest subnormal number.
  options.largest_precision = 4096;
  return options;
}

// Two queries of two heads on two keys, equal scores: everything is rational.
struct EqualScores {
  ProblemTensors tensors;
  Contract contract;

  EqualScores() {
    constexpr ElementType type = ElementType::binary32;
    tensors.query = test::tensor_of(type, {1, 2, 1, 4}, std::vector<double>(8, 0.0));
    tensors.key = test::tensor_of(type, {1, 1, 2, 4}, {1, 0, 0, 0, 0, 1, 0, 0});
    tensors.value = test::tensor_of(type, {1, 1, 2, 2}, {4, 0, 0, 8});
    tensors.grad_output = test::tensor_of(type, {1, 2, 1, 2}, {1, 0, 0, 3});
    // Weights 1/2; g.v is (4, 0) and (0, 24); t is (1, -1) and (-6, 6); scale 1/2.
    tensors.grad_query = test::tensor_of(type, {1, 2, 1, 4}, {0.5, -0.5, 0, 0, -3, 3, 0, 0});
    tensors.grad_key = test::tensor_of(type, {1, 1, 2, 4}, std::vector<double>(8, 0.0));
    tensors.grad_value = test::tensor_of(type, {1, 1, 2, 2}, {0.5, 1.5, 0.5, 1.5});
  }
};

// A random problem with the gradients that are right, in binary64.
ProblemTensors with_gradients(const gqa_test::RandomProblem& drawn, gqa_test::Random& random,
                              ElementType grad_type) {
  ProblemTensors tensors = drawn.tensors;
  tensors.grad_output = test::drawn_grad_output(random, tensors, Draw::normal, grad_type);
  test::record_gradients(tensors, drawn.contract, ElementType::binary64);
  return tensors;
}

// The right gradients with errors of about `error`, in binary64.
std::shared_ptr<TypedTensor> disturbed(const TypedTensor& tensor, gqa_test::Random& random,
                                       double error) {
  std::vector<double> values = decode(tensor).data();
  for (double& x : values) {
    x += error * gqa_test::one_of(random, {0.0, 0.5, 1 - 1e-10, 1 + 1e-10, 2.0});
  }
  return gqa_test::tensor_of(tensor.shape, values, ElementType::binary64);
}

}  // namespace

TEST_CASE("gradient audit: rational gradients are decided exactly, with no tolerance at all") {
  for (const bool filter : {true, false}) {
    CAPTURE(filter);
    EqualScores recorded;
    const AuditOptions options = options_of(AbsoluteRelativeTolerance{}, filter);
    for (const GradientKind kind : gradient_kinds) {
      CAPTURE(name(kind));
      const AuditResult result = audit_gradient(recorded.tensors, recorded.contract, kind, options);
      CHECK(result.verdict == Verdict::pass);
      CHECK(result.tally.undecided == 0);
    }
    recorded.tensors.grad_query =
        test::tensor_of(ElementType::binary32, {1, 2, 1, 4}, {0.5, -0.5, 0, 0, -3, 3, 0x1p-149, 0});
    const AuditResult wrong =
        audit_gradient(recorded.tensors, recorded.contract, GradientKind::query, options);
    CHECK(wrong.verdict == Verdict::fail);
    CHECK(wrong.strength == FailureStrength::proved);
    CHECK(wrong.tally.violations == 1);
    CHECK(wrong.where == "1 of 8 elements in batch 0, query head 1; column 2");
  }
}

TEST_CASE("gradient audit: one visible key and equal values give gradients of exactly zero") {
  for (const bool filter : {true, false}) {
    for (const std::int64_t keys : {1, 3}) {
      gqa_test::Random random(5);
      gqa_test::Plain plain(random, 2, keys, Draw::normal, Draw::equal);
      for (double& v : plain.value) v = 3;
      ProblemTensors tensors;
      tensors.query = gqa_test::tensor_of({1, 1, 2, 8}, plain.query, ElementType::binary64);
      tensors.key = gqa_test::tensor_of({1, 1, keys, 8}, plain.key, ElementType::binary64);
      tensors.value = gqa_test::tensor_of({1, 1, keys, 4}, plain.value, ElementType::binary64);
      tensors.grad_output =
          test::drawn_grad_output(random, tensors, Draw::normal, ElementType::binary64);
      tensors.grad_query =
          test::tensor_of(ElementType::binary64, {1, 1, 2, 8}, std::vector<double>(16, 0.0));
      tensors.grad_key =
          test::tensor_of(ElementType::binary64, {1, 1, keys, 8},
                          std::vector<double>(static_cast<std::size_t>(8 * keys), 0.0));
      const AuditOptions options = options_of(AbsoluteRelativeTolerance{}, filter);
      CAPTURE(keys);
      CHECK(audit_gradient(tensors, {}, GradientKind::query, options).verdict == Verdict::pass);
      CHECK(audit_gradient(tensors, {}, GradientKind::key, options).verdict == Verdict::pass);
    }
  }
}

TEST_CASE(
    "gradient audit: correctly rounded gradients of random problems pass one and a half ulp") {
  std::int64_t elements = 0;
  for (const std::uint64_t seed : test::seeds(30)) {
    gqa_test::Random random(static_cast<unsigned>(seed));
    const gqa_test::RandomProblem drawn(random);
    CAPTURE(seed);
    CAPTURE(drawn.description);
    ProblemTensors tensors = with_gradients(drawn, random, ElementType::binary32);
    for (const GradientKind kind : gradient_kinds) {
      CAPTURE(name(kind));
      AuditOptions options =
          options_of(UlpTolerance{Rational(3, 2)}, gqa_test::chance(random, 0.5));
      const AuditResult result = audit_gradient(tensors, drawn.contract, kind, options);
      CHECK(result.verdict == Verdict::pass);
      CHECK(result.tally.elements > 0);
      elements += result.tally.elements;
    }
  }
  MESSAGE(elements, " elements");
}

TEST_CASE("gradient audit: filter or not, one thread or two, the verdicts are the same") {
  for (const std::uint64_t seed : test::seeds(15)) {
    gqa_test::Random random(static_cast<unsigned>(seed));
    const gqa_test::RandomProblem drawn(random);
    CAPTURE(seed);
    CAPTURE(drawn.description);
    ProblemTensors tensors = with_gradients(drawn, random, ElementType::binary64);
    tensors.grad_query = disturbed(*tensors.grad_query, random, 0x1p-20);
    tensors.grad_key = disturbed(*tensors.grad_key, random, 0x1p-20);
    tensors.grad_value = disturbed(*tensors.grad_value, random, 0x1p-20);
    for (const Tolerance& tolerance :
         {Tolerance(AbsoluteRelativeTolerance{power_of_two(-20), 0}),
          Tolerance(ModelTolerance{gqa_test::one_of(
              random, {&f64_model, &f32_model, &f16_f32_model, &bf16_f32_model})})}) {
      CAPTURE(describe(tolerance));
      for (const GradientKind kind : gradient_kinds) {
        CAPTURE(name(kind));
        const auto audit = [&](bool filter, int threads) {
          tbb::task_arena arena(threads);
          return arena.execute([&] {
            AuditResult result =
                audit_gradient(tensors, drawn.contract, kind, options_of(tolerance, filter));
            // Null outputs are refuted from below, and fewer without enclosures: a pass may then be
            // undecided, which is all that may differ.
            if (result.shows_nothing) result.verdict = Verdict::pass;
            return findings_of(result);
          });
        };
        const Findings expected = audit(true, 1);
        CHECK(audit(true, 3) == expected);
        CHECK(audit(false, 2) == expected);
      }
    }
  }
}

TEST_CASE("gradient audit: NaN and infinities never pass, and a NaN operand decides nothing") {
  for (const bool filter : {true, false}) {
    EqualScores recorded;
    const AuditOptions options = options_of(ModelTolerance{&f32_model}, filter);
    const double nan = std::numeric_limits<double>::quiet_NaN();
    recorded.tensors.grad_value =
        test::tensor_of(ElementType::binary32, {1, 1, 2, 2},
                        {nan, 1.5, 0.5, std::numeric_limits<double>::infinity()});
    AuditResult result =
        audit_gradient(recorded.tensors, recorded.contract, GradientKind::value, options);
    CHECK(result.verdict == Verdict::fail);
    CHECK(result.tally.violations == 2);
    recorded.tensors.grad_output =
        test::tensor_of(ElementType::binary32, {1, 2, 1, 2}, {1, 0, nan, 3});
    result = audit_gradient(recorded.tensors, recorded.contract, GradientKind::value, options);
    CHECK(result.verdict == Verdict::undecided);
    CHECK(result.tally.not_finite_references == 4);
    result = audit_gradient(recorded.tensors, recorded.contract, GradientKind::query, options);
    CHECK(result.tally.not_finite_references == 4);
    CHECK(result.tally.undecided == 4);
  }
}

TEST_CASE("gradient audit: what cannot be audited is refused by name") {
  const auto refusal = [](const auto& change) {
    EqualScores recorded;
    change(recorded);
    return test::refusal_of([&] {
      const AttentionProblem problem = make_problem(recorded.tensors, recorded.contract);
      GradientAudit(problem, recorded.tensors, {});
    });
  };
  CHECK(refusal([](EqualScores&) {}) == "none");
  CHECK(refusal([](EqualScores& r) { r.tensors.grad_output.reset(); }) ==
        "contract.missing_tensor at grad_output");
  CHECK(refusal([](EqualScores& r) {
          r.tensors.grad_query.reset();
          r.tensors.grad_key.reset();
          r.tensors.grad_value.reset();
        }) == "audit.nothing_to_audit at grad_output");
  CHECK(refusal([](EqualScores& r) { r.tensors.grad_key = r.tensors.grad_value; }) ==
        "contract.shape_mismatch at grad_key");
  CHECK(refusal([](EqualScores& r) { r.tensors.grad_query = r.tensors.grad_key; }) ==
        "contract.shape_mismatch at grad_query");
  CHECK(
      refusal([](EqualScores& r) {
        r.tensors.grad_value = test::tensor_of_bits(ElementType::int32, {1, 1, 2, 2}, {1, 2, 3, 4});
      }) == "contract.element_type at grad_value");
  for (const EmptyRow policy : {EmptyRow::zero, EmptyRow::nan, EmptyRow::any, EmptyRow::mean}) {
    CAPTURE(name(policy));
    CHECK(
        refusal([policy](EqualScores& r) {
          r.contract.empty_row = policy;
          r.tensors.attn_mask = test::tensor_of_bits(ElementType::boolean, {2, 1, 2}, {1, 1, 0, 0});
        }) == (policy == EmptyRow::zero ? "none" : "gradient.empty_row at grad_output"));
    // No row is empty: the policy does not matter.
    CHECK(refusal([policy](EqualScores& r) { r.contract.empty_row = policy; }) == "none");
  }
}

TEST_CASE("gradient audit: gradients stand beside output, or alone") {
  EqualScores recorded;
  const AuditOptions options = options_of(AbsoluteRelativeTolerance{power_of_two(-20), 0});
  const auto names = [&] {
    std::vector<std::string> found;
    const AttentionProblem problem = make_problem(recorded.tensors, recorded.contract);
    for (const OutputAudit& output : audit_outputs(problem, recorded.tensors, options)) {
      CHECK(output.result.verdict == Verdict::pass);
      found.push_back(output.name);
    }
    return found;
  };
  CHECK(names() == std::vector<std::string>{"grad_query", "grad_key", "grad_value"});
  recorded.tensors.output = test::tensor_of(ElementType::binary32, {1, 2, 1, 2}, {2, 4, 2, 4});
  recorded.tensors.grad_key.reset();
  CHECK(names() == std::vector<std::string>{"output", "grad_query", "grad_value"});
}

TEST_CASE("gradient audit: past keys are constants, keys that nobody sees have no gradient") {
  EqualScores recorded;
  // The second key alone is new; the first came from the past.
  constexpr ElementType type = ElementType::binary32;
  recorded.tensors.past_key = test::tensor_of(type, {1, 1, 1, 4}, {1, 0, 0, 0});
  recorded.tensors.past_value = test::tensor_of(type, {1, 1, 1, 2}, {4, 0});
  recorded.tensors.key = test::tensor_of(type, {1, 1, 2, 4}, {0, 1, 0, 0, 5, 5, 5, 5});
  recorded.tensors.value = test::tensor_of(type, {1, 1, 2, 2}, {0, 8, 9, 9});
  recorded.tensors.nonpad_kv_seqlen = test::tensor_of_bits(ElementType::int64, {1}, {2});
  recorded.tensors.grad_value = test::tensor_of(type, {1, 1, 2, 2}, {0.5, 1.5, 0, 0});
  for (const bool filter : {true, false}) {
    for (const GradientKind kind : gradient_kinds) {
      CAPTURE(name(kind));
      CHECK(audit_gradient(recorded.tensors, recorded.contract, kind,
                           options_of(AbsoluteRelativeTolerance{}, filter))
                .verdict == Verdict::pass);
    }
    ProblemTensors wrong = recorded.tensors;
    wrong.grad_value = test::tensor_of(type, {1, 1, 2, 2}, {0.5, 1.5, 0, 1});
    const AuditResult result = audit_gradient(wrong, recorded.contract, GradientKind::value,
                                              options_of(ModelTolerance{&f32_model}, filter));
    CHECK(result.verdict == Verdict::fail);
    CHECK(result.tally.worst[0].index == std::array<std::int64_t, 4>{0, 0, 1, 1});
  }
}
