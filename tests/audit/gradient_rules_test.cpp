// Gradients that are wrong in a way that has a name.
#include "gqa/audit/gradient_rules.hpp"

#include <doctest/doctest.h>

#include "audit/gradient_support.hpp"
#include "audit/rounded_gradients.hpp"
#include "gqa/audit/model_choice.hpp"

using namespace gqa;
using test::BackwardOperands;
using test::KernelFormats;

namespace {

BackwardOperands operands_of(std::uint64_t seed, const FloatFormat& stored, std::int64_t heads) {
  test::Random random(seed);
  BackwardOperands o;
  o.heads = heads;
  o.queries = o.keys = 12;
  o.key_size = o.value_size = 8;
  o.causal = true;
  const auto draw = [&](std::int64_t count) {
    std::vector<double> values(static_cast<std::size_t>(count));
    for (double& x : values) x = test::rounded(stored, random.normal());
    return values;
  };
  o.query = draw(heads * 12 * 8);
  o.key = draw(12 * 8);
  o.value = draw(12 * 8);
  o.grad = draw(heads * 12 * 8);
  return o;
}

// What one query head adds to key and value.
test::BackwardResult part_of(const BackwardOperands& o, const KernelFormats& formats,
                             std::int64_t head) {
  BackwardOperands own = o;
  own.heads = 1;
  const auto cut = [head](const std::vector<double>& all) {
    const auto begin = all.begin() + head * 12 * 8;
    return std::vector<double>(begin, begin + 12 * 8);
  };
  own.query = cut(o.query);
  own.grad = cut(o.grad);
  return test::RoundedBackward(own, formats, {}).run();
}

struct Planted {
  ProblemTensors tensors;
  Contract contract;

  std::vector<GradientRule> rules(GradientKind kind, const PrecisionModel& model) const {
    const AttentionProblem problem = make_problem(tensors, contract);
    AuditOptions options;
    options.tolerance = ModelTolerance{&model};
    const AuditResult right = GradientAudit(problem, tensors, options).audit(kind);
    CHECK(right.verdict == Verdict::fail);
    CHECK(right.strength == FailureStrength::proved);
    return explaining_rules(problem, tensors, kind, right, options);
  }
};

Planted planted(const BackwardOperands& o, const KernelFormats& formats,
                const test::BackwardResult& result) {
  return {test::backward_tensors(o, formats.storage, result), test::backward_contract(o)};
}

std::vector<double> scaled(std::vector<double> values, double factor, const FloatFormat& format) {
  for (double& x : values) x = test::rounded(format, x * factor);
  return values;
}

}  // namespace

TEST_CASE("gradient rules: a gradient that is not summed is named with its query head") {
  for (const KernelFormats& formats : test::kernels_of_all_models()) {
    if (formats.scores_stored) continue;
    for (const std::uint64_t seed : test::seeds(3)) {
      for (std::int64_t head = 0; head < 4; ++head) {
        INFO(formats.model->name, ", seed ", seed, ", head ", head);
        const BackwardOperands o = operands_of(seed, formats.stored(), 4);
        test::BackwardResult result = test::RoundedBackward(o, formats, {}).run();
        const test::BackwardResult part = part_of(o, formats, head);
        result.key = part.key;
        result.value = part.value;
        const Planted recorded = planted(o, formats, result);
        for (const GradientKind kind : {GradientKind::key, GradientKind::value}) {
          const auto rules = recorded.rules(kind, *formats.model);
          REQUIRE(rules.size() == 1);
          CHECK(rules[0].only_member == head);
        }
      }
    }
  }
}

TEST_CASE("gradient rules: means, missing scales and signs are told apart") {
  const KernelFormats formats = test::kernels_of_all_models()[1];  // binary32
  const BackwardOperands o = operands_of(1, binary32, 4);
  const test::BackwardResult right = test::RoundedBackward(o, formats, {}).run();
  test::BackwardResult wrong = right;
  wrong.key = scaled(right.key, 0.25, binary32);
  wrong.value = scaled(right.value, 0.25, binary32);
  wrong.query = scaled(right.query, std::sqrt(8.0), binary32);
  Planted recorded = planted(o, formats, wrong);
  auto rules = recorded.rules(GradientKind::key, f32_model);
  REQUIRE(rules.size() == 1);
  CHECK(rules[0].averaged);
  rules = recorded.rules(GradientKind::value, f32_model);
  REQUIRE(rules.size() == 1);
  CHECK(rules[0].averaged);
  rules = recorded.rules(GradientKind::query, f32_model);
  REQUIRE(rules.size() == 1);
  CHECK(rules[0].scale_missing);
  wrong.key = scaled(right.key, std::sqrt(8.0), binary32);
  wrong.value = scaled(right.value, -1, binary32);
  wrong.query = scaled(right.query, -1, binary32);
  recorded = planted(o, formats, wrong);
  rules = recorded.rules(GradientKind::key, f32_model);
  REQUIRE(rules.size() == 1);
  CHECK(rules[0].scale_missing);
  for (const GradientKind kind : {GradientKind::query, GradientKind::value}) {
    rules = recorded.rules(kind, f32_model);
    REQUIRE(rules.size() == 1);
    CHECK(rules[0].negated);
  }
}

TEST_CASE("gradient rules: what no rule makes is not named, what is right is not asked") {
  const KernelFormats formats = test::kernels_of_all_models()[1];
  const BackwardOperands o = operands_of(2, binary32, 4);
  test::BackwardResult result = test::RoundedBackward(o, formats, {}).run();
  result.key[5] += 1;
  const Planted recorded = planted(o, formats, result);
  CHECK(recorded.rules(GradientKind::key, f32_model).empty());
  const AttentionProblem problem = make_problem(recorded.tensors, recorded.contract);
  AuditOptions options;
  options.tolerance = ModelTolerance{&f32_model};
  const AuditResult right =
      GradientAudit(problem, recorded.tensors, options).audit(GradientKind::value);
  CHECK(right.verdict == Verdict::pass);
  CHECK(explaining_rules(problem, recorded.tensors, GradientKind::value, right, options).empty());
}

TEST_CASE("gradient rules: an unsummed bfloat16 gradient does not hide under a looser model") {
  const KernelFormats formats = test::kernels_of_all_models()[3];  // bf16-f32
  const BackwardOperands o = operands_of(3, bfloat16, 4);
  test::BackwardResult result = test::RoundedBackward(o, formats, {}).run();
  result.value = part_of(o, formats, 3).value;
  const Planted recorded = planted(o, formats, result);
  const AttentionProblem problem = make_problem(recorded.tensors, recorded.contract);
  const std::vector<OutputAudit> outputs = audit_with_candidates(problem, recorded.tensors, {});
  const auto tight = [](const OutputAudit& output) {
    return std::get<ModelTolerance>(output.tolerance).model == &bf16_f32_model;
  };
  CHECK(std::ranges::all_of(outputs, tight));
  CHECK(worst_verdict(outputs) == Verdict::fail);
  // A healthy one passes under the first model.
  const Planted healthy = planted(o, formats, test::RoundedBackward(o, formats, {}).run());
  const AttentionProblem other = make_problem(healthy.tensors, healthy.contract);
  const std::vector<OutputAudit> passed = audit_with_candidates(other, healthy.tensors, {});
  CHECK(std::ranges::all_of(passed, tight));
  CHECK(worst_verdict(passed) == Verdict::pass);
}
