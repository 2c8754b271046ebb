#include "gqa/audit/outputs/score_audit.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numbers>

#include "audit/outputs_support.hpp"
#include "support/errors.hpp"
#include "support/numbers.hpp"

using namespace gqa;
using gqa::test::minus_infinity;
using gqa::test::not_a_number;
using gqa::test::tensor_of;

namespace {

AuditOptions within(const Rational& absolute) {
  AuditOptions options;
  options.tolerance = AbsoluteRelativeTolerance{absolute, 0};
  options.largest_precision = 1024;
  return options;
}

AuditOptions f32_options() {
  AuditOptions options;
  options.tolerance = ModelTolerance{&f32_model, false};
  return options;
}

// One head: query (1, 2), keys (3, 1), (-1, 0.5), (2, -2): products 5, 0, -2.
struct OneRow {
  ProblemTensors tensors;
  Contract contract;
  OneRow() {
    tensors.query = tensor_of({1, 1, 1, 2}, {1, 2});
    tensors.key = tensor_of({1, 1, 3, 2}, {3, 1, -1, 0.5F, 2, -2});
    tensors.value = tensor_of({1, 1, 3, 1}, {1, 2, 3});
    tensors.output = tensor_of({1, 1, 1, 1}, {0});
    contract.scale = Rational(1);
  }
  AuditResult scores(int mode, const std::vector<double>& recorded,
                     const AuditOptions& options = within(0)) const {
    const auto tensor = tensor_of(ElementType::binary64, {1, 1, 1, 3}, recorded);
    return audit_qk_matmul_output(make_problem(tensors, contract), tensor, mode, options);
  }
  AuditResult lse(double recorded, const AuditOptions& options = within(0)) const {
    const auto tensor = tensor_of(ElementType::binary64, {1, 1, 1}, {recorded});
    return audit_lse(make_problem(tensors, contract), tensor, options);
  }
};

const Rational hair = make_rational(1, mpz_class("10000000000000"));

}  // namespace

TEST_CASE("scores: what the oracle records passes in all four modes, and lse too") {
  for (const std::uint64_t seed : test::seeds(150)) {
    test::Random random(seed);
    const oracle::RealProblem p = test::random_real_problem(random);
    const oracle::Rules& r = p.rules;
    const AttentionProblem problem = make_problem(test::tensors_of(p), test::contract_of(p));
    const Shape shape{r.batch, r.q_heads, r.queries, r.keys};
    CAPTURE(seed);
    for (int mode = 0; mode <= 3; ++mode) {
      CAPTURE(mode);
      const auto recorded = tensor_of(ElementType::binary64, shape, test::recorded_scores(p, mode));
      const AuditResult result = audit_qk_matmul_output(problem, recorded, mode, within(hair));
      CHECK(result.verdict == Verdict::pass);
      CHECK(result.tally.elements == element_count(shape));
      CHECK(result.where == "");
    }
    const auto lse =
        tensor_of(ElementType::binary64, {r.batch, r.q_heads, r.queries}, test::recorded_lse(p));
    CHECK(audit_lse(problem, lse, within(hair)).verdict == Verdict::pass);
  }
}

TEST_CASE("scores: one disturbed element is one violation, named by its index") {
  for (const std::uint64_t seed : test::seeds(60)) {
    test::Random random(seed);
    const oracle::RealProblem p = test::random_real_problem(random);
    const oracle::Rules& r = p.rules;
    const AttentionProblem problem = make_problem(test::tensors_of(p), test::contract_of(p));
    const int mode = static_cast<int>(random.integer(0, 3));
    std::vector<double> scores = test::recorded_scores(p, mode);
    const std::int64_t at = random.integer(0, static_cast<std::int64_t>(scores.size()) - 1);
    double& element = scores[static_cast<std::size_t>(at)];
    element = std::isinf(element) ? -1e30 : element + 1e-9;
    const Shape shape{r.batch, r.q_heads, r.queries, r.keys};
    const AuditResult result = audit_qk_matmul_output(
        problem, tensor_of(ElementType::binary64, shape, scores), mode, within(hair));
    CAPTURE(seed);
    CAPTURE(mode);
    CHECK(result.verdict == Verdict::fail);
    CHECK(result.strength == FailureStrength::proved);
    REQUIRE(result.tally.violations == 1);
    const auto index = result.tally.worst.front().index;
    CHECK(((index[0] * r.q_heads + index[1]) * r.queries + index[2]) * r.keys + index[3] == at);
  }
}

TEST_CASE("scores: rational ties are decided at tolerance zero") {
  OneRow p;
  CHECK(p.scores(0, {5, 0, -2}).verdict == Verdict::pass);
  CHECK(p.scores(0, {5, std::nextafter(0.0, 1), -2}).verdict == Verdict::fail);
  CHECK(p.scores(0, {5, 0, -2}).tally.undecided == 0);
  // 1/sqrt(2) is irrational: no binary64 number is exact, and 0 is the only tie.
  p.contract.scale.reset();
  const AuditResult result = p.scores(0, {5 / std::sqrt(2.0), 0, -std::sqrt(2.0)});
  CHECK(result.tally.violations == 2);
  CHECK(result.tally.undecided == 0);
  // tanh of an algebraic number other than 0 is transcendental.
  p.contract.softcap = 2;
  CHECK(p.scores(1, {1, 0, -1}).tally.violations == 2);
  CHECK(p.scores(1, {1, 0, -1}).tally.undecided == 0);
}

TEST_CASE("scores: modes 0 and 1 know invisible keys, mode 2 holds minus infinity there") {
  OneRow p;
  p.tensors.attn_mask = tensor_of(ElementType::binary64, {1, 3}, {0.5, minus_infinity, 0});
  CHECK(p.scores(0, {5, 0, -2}).verdict == Verdict::pass);
  CHECK(p.scores(2, {5.5, minus_infinity, -2}).verdict == Verdict::pass);
  for (const double wrong : {0.0, -1e300, -minus_infinity, not_a_number}) {
    CAPTURE(wrong);
    const auto result = p.scores(2, {5.5, wrong, -2}, within(1000));
    CHECK(result.verdict == Verdict::fail);
    CHECK(result.strength == FailureStrength::proved);
    CHECK(result.where == "1 of 3 elements in batch 0, every query head; key 1");
  }
}

TEST_CASE("scores: a query head's own KV head is read") {
  ProblemTensors t;
  t.query = tensor_of({1, 2, 1, 1}, {1, 1});
  t.key = tensor_of({1, 2, 1, 1}, {3, 7});
  t.value = tensor_of({1, 2, 1, 1}, {0, 0});
  t.output = tensor_of({1, 2, 1, 1}, {0, 0});
  const auto recorded = tensor_of({1, 2, 1, 1}, {3, 3});
  const AuditResult result = audit_qk_matmul_output(make_problem(t, {}), recorded, 0, within(0));
  CHECK(result.where == "all of batch 0, query head 1");
}

TEST_CASE("scores: NaN in an invisible key is nobody's business, in a visible one it is open") {
  OneRow p;
  p.tensors.key = test::tensor_of_bits(
      ElementType::binary32, {1, 1, 3, 2},
      {0x40400000, 0x3f800000, 0x7fc00000, 0x3f000000, 0x40000000, 0xc0000000});
  CHECK(p.scores(0, {5, not_a_number, -2}).verdict == Verdict::undecided);
  CHECK(p.scores(0, {5, not_a_number, -2}).tally.not_finite_references == 1);
  CHECK(p.scores(0, {4, not_a_number, -2}).verdict == Verdict::fail);
  CHECK(p.scores(3, {1, 0, 0}).tally.undecided == 3);
  CHECK(p.lse(0).verdict == Verdict::undecided);
  p.tensors.attn_mask = test::tensor_of_bits(ElementType::boolean, {1, 3}, {1, 0, 1});
  CHECK(p.scores(0, {5, not_a_number, -2}).verdict == Verdict::pass);
  CHECK(p.scores(0, {5, 17, -2}).verdict == Verdict::pass);
  CHECK(p.scores(2, {5, minus_infinity, -2}).verdict == Verdict::pass);
  CHECK(p.scores(2, {5, not_a_number, -2}).verdict == Verdict::fail);
}

TEST_CASE("weights: equal scores give exactly 1/n, the sink counted") {
  OneRow p;
  p.tensors.query = tensor_of({1, 1, 1, 2}, {0, 0});
  p.tensors.sink = tensor_of({1}, {0});
  CHECK(p.scores(3, {0.25, 0.25, 0.25}).verdict == Verdict::pass);
  CHECK(p.scores(3, {0.25, 0.25, std::nextafter(0.25, 1)}).verdict == Verdict::fail);
  p.contract.softcap = 3;
  CHECK(p.scores(3, {0.25, 0.25, 0.25}).verdict == Verdict::pass);
  p.tensors.sink.reset();
  CHECK(p.scores(3, {0.25, 0.25, 0.25}).tally.violations == 3);
}

TEST_CASE("weights: an invisible key weighs nothing, within the stated tolerance") {
  OneRow p;
  p.tensors.attn_mask = test::tensor_of_bits(ElementType::boolean, {1, 3}, {0, 1, 0});
  CHECK(p.scores(3, {0, 1, -0.0}).verdict == Verdict::pass);
  CHECK(p.scores(3, {1e-40, 1, 0}).verdict == Verdict::fail);
  CHECK(p.scores(3, {1e-40, 1, 0}, within(hair)).verdict == Verdict::pass);
  CHECK(p.scores(3, {1e-40, 1, 0}, f32_options()).verdict == Verdict::fail);
}

TEST_CASE("weights and lse: a row without a visible key holds what the policy says") {
  OneRow p;
  p.tensors.attn_mask = test::tensor_of_bits(ElementType::boolean, {1, 1}, {0});
  const double third = 1.0 / 3;
  struct Expect {
    EmptyRow policy;
    Verdict zeros, nans, thirds;
  };
  constexpr Verdict pass = Verdict::pass;
  constexpr Verdict fail = Verdict::fail;
  for (const Expect& e :
       {Expect{EmptyRow::zero, pass, fail, fail}, Expect{EmptyRow::nan, fail, pass, fail},
        Expect{EmptyRow::any, pass, pass, pass}, Expect{EmptyRow::mean, fail, fail, pass}}) {
    p.contract.empty_row = e.policy;
    CAPTURE(name(e.policy));
    CHECK(p.scores(3, {0, 0, 0}, f32_options()).verdict == e.zeros);
    CHECK(p.scores(3, {not_a_number, not_a_number, not_a_number}).verdict == e.nans);
    CHECK(p.scores(3, {third, third, third}, f32_options()).verdict == e.thirds);
    CHECK(p.lse(minus_infinity).verdict == Verdict::pass);
    CHECK(p.lse(-1e30).verdict == Verdict::fail);
  }
  // A sink keeps the denominator positive: true zeros, and its own logarithm.
  p.contract.empty_row = EmptyRow::nan;
  p.tensors.sink = tensor_of({1}, {0.75F});
  CHECK(p.scores(3, {0, 0, 0}).verdict == Verdict::pass);
  CHECK(p.lse(0.75).verdict == Verdict::pass);
  CHECK(p.lse(minus_infinity).verdict == Verdict::fail);
  CHECK(p.lse(0.7500001, f32_options()).verdict == Verdict::pass);
  CHECK(p.lse(0.76, f32_options()).verdict == Verdict::fail);
}

TEST_CASE("lse: the logarithm of one exponential is the score, exactly") {
  OneRow p;
  p.tensors.attn_mask = test::tensor_of_bits(ElementType::boolean, {1, 3}, {1, 0, 0});
  CHECK(p.lse(5).verdict == Verdict::pass);
  CHECK(p.lse(std::nextafter(5.0, 6)).verdict == Verdict::fail);
  p.tensors.sink = tensor_of({1}, {5});
  CHECK(p.lse(5).verdict == Verdict::fail);  // 5 + ln 2
  CHECK(p.lse(5 + std::log(2.0), within(hair)).verdict == Verdict::pass);
}

TEST_CASE("lse: in base 2 what the oracle records over ln 2 passes, and in base e it fails") {
  std::int64_t numbers = 0;
  for (const std::uint64_t seed : test::seeds(100)) {
    test::Random random(seed);
    const oracle::RealProblem p = test::random_real_problem(random);
    const oracle::Rules& r = p.rules;
    CAPTURE(seed);
    std::vector<double> values = test::recorded_lse(p);
    for (double& x : values) x /= std::numbers::ln2;
    const auto recorded = tensor_of(ElementType::binary64, {r.batch, r.q_heads, r.queries}, values);
    Contract contract = test::contract_of(p);
    contract.lse.base = LseBase::two;
    const AttentionProblem binary = make_problem(test::tensors_of(p), contract);
    CHECK(audit_lse(binary, recorded, within(hair)).verdict == Verdict::pass);
    for (double& x : values) x = static_cast<double>(static_cast<float>(x));
    const auto singles = tensor_of(ElementType::binary32, recorded->shape, values);
    CHECK(audit_lse(binary, singles, f32_options()).verdict == Verdict::pass);
    const bool any = std::ranges::any_of(
        values, [](double x) { return std::isfinite(x) && std::abs(x) > 0x1p-10; });
    if (!any) continue;
    const AttentionProblem natural = make_problem(test::tensors_of(p), test::contract_of(p));
    CHECK(audit_lse(natural, recorded, within(hair)).verdict == Verdict::fail);
    ++numbers;
  }
  CHECK(numbers > test::of_all_seeds(50));
}

TEST_CASE(
    "lse: the binary logarithm of a power of two is decided exactly, of others by enclosures") {
  OneRow p;
  p.contract.lse.base = LseBase::two;
  p.tensors.query = tensor_of({1, 1, 1, 2}, {0, 0});
  p.tensors.sink = tensor_of({1}, {0});
  CHECK(p.lse(2).verdict == Verdict::pass);  // log2 of 3 keys and a sink
  CHECK(p.lse(std::nextafter(2.0, 3)).verdict == Verdict::fail);
  p.tensors.sink.reset();
  CHECK(p.lse(std::log2(3.0)).verdict == Verdict::fail);
  CHECK(p.lse(std::log2(3.0), within(hair)).verdict == Verdict::pass);
  CHECK(p.lse(std::log(3.0), f32_options()).verdict == Verdict::fail);
  // A sink alone: its logit over ln 2.
  p.tensors.attn_mask = test::tensor_of_bits(ElementType::boolean, {1, 1}, {0});
  p.tensors.sink = tensor_of({1}, {0.75F});
  CHECK(p.lse(0.75 / std::numbers::ln2, within(hair)).verdict == Verdict::pass);
  CHECK(p.lse(0.75, f32_options()).verdict == Verdict::fail);
}

TEST_CASE("lse: the infinity of a row without keys is the declared one") {
  OneRow p;
  p.tensors.attn_mask = test::tensor_of_bits(ElementType::boolean, {1, 1}, {0});
  p.contract.lse.empty = LseEmpty::plus_infinity;
  CHECK(p.lse(-minus_infinity).verdict == Verdict::pass);
  CHECK(p.lse(minus_infinity).verdict == Verdict::fail);
  CHECK(p.lse(0).verdict == Verdict::fail);
}

TEST_CASE("lse: axes in the other order are told to be that") {
  OneRow p;
  p.tensors.query = test::counting(ElementType::binary32, {1, 1, 2, 2});
  p.tensors.output = test::counting(ElementType::binary32, {1, 1, 2, 1});
  const AttentionProblem problem = make_problem(p.tensors, p.contract);
  test::check_error(
      [&] {
        audit_lse(problem, test::counting(ElementType::binary64, {1, 2, 1}), within(0));
      },
      "contract.shape_mismatch", "lse", "it fits with --lse-layout BTH");
}

TEST_CASE("scores and lse: wrong shapes, types and modes are refused by name") {
  const OneRow p;
  const AttentionProblem problem = make_problem(p.tensors, p.contract);
  const auto scores = [&](const std::shared_ptr<TypedTensor>& tensor, int mode) {
    return test::refusal_of([&] { audit_qk_matmul_output(problem, tensor, mode, within(0)); });
  };
  CHECK(scores(test::counting(ElementType::binary32, {1, 1, 3}), 0) ==
        "contract.shape_rank at qk_matmul_output");
  CHECK(scores(test::counting(ElementType::binary32, {1, 1, 3, 1}), 0) ==
        "contract.shape_mismatch at qk_matmul_output");
  CHECK(scores(test::tensor_of_bits(ElementType::int32, {1, 1, 1, 3}, {5, 0, 1}), 0) ==
        "contract.element_type at qk_matmul_output");
  CHECK(scores(test::counting(ElementType::binary32, {1, 1, 1, 3}), 4) ==
        "contract.mode at qk_matmul_output");
  const auto lse = [&](const std::shared_ptr<TypedTensor>& tensor) {
    return test::refusal_of([&] { audit_lse(problem, tensor, within(0)); });
  };
  CHECK(lse(test::counting(ElementType::binary32, {1, 1, 1, 1})) == "contract.shape_rank at lse");
  CHECK(lse(test::counting(ElementType::binary32, {1, 1, 2})) == "contract.shape_mismatch at lse");
  CHECK(lse(test::tensor_of_bits(ElementType::int64, {1, 1, 1}, {1})) ==
        "contract.element_type at lse");
}
