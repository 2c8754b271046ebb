// Log-sum-exps decided by the filter's against the same decided by enclosures.
#include "gqa/audit/outputs/lse_tile_auditor.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <numbers>
#include <optional>

#include "audit/outputs_support.hpp"
#include "gqa/audit/outputs/score_audit.hpp"
#include "support/random.hpp"

using namespace gqa;
using gqa::test::tensor_of;

namespace {

struct Answers {
  std::map<std::array<std::int64_t, 4>, ElementDecision> decisions;
  std::optional<AuditResult> result;
};

Answers answers_of(const AttentionProblem& problem, const std::shared_ptr<TypedTensor>& recorded,
                   const Tolerance& tolerance, bool filter) {
  Answers answers;
  AuditOptions options;
  options.tolerance = tolerance;
  options.use_filter = filter;
  std::mutex mutex;
  options.observe = [&](const AuditedElement& element) {
    const std::lock_guard lock(mutex);
    answers.decisions[element.index] = element.decision;
  };
  answers.result.emplace(audit_lse(problem, recorded, options));
  return answers;
}

std::vector<Tolerance> lse_tolerances() {
  std::vector<Tolerance> all{AbsoluteRelativeTolerance{make_rational(1, 1000), 0},
                             AbsoluteRelativeTolerance{0, make_rational(1, 1 << 20)},
                             UlpTolerance{2}};
  for (const PrecisionModel* model : precision_models()) {
    all.push_back(ModelTolerance{model});
    all.push_back(ModelTolerance{model, true});
  }
  return all;
}

}  // namespace

TEST_CASE("lse tiles: every row has the verdict of enclosures, under every tolerance") {
  std::int64_t rows = 0, by_filter = 0, violations = 0;
  for (const std::uint64_t seed : test::seeds(60)) {
    test::Random random(seed);
    const oracle::RealProblem p = test::random_real_problem(random);
    const oracle::Rules& r = p.rules;
    Contract contract = test::contract_of(p);
    if (random.one_in(3)) contract.lse.base = LseBase::two;
    if (random.one_in(3)) contract.lse.empty = LseEmpty::plus_infinity;
    const AttentionProblem problem = make_problem(test::tensors_of(p), contract);
    std::vector<double> values = test::recorded_lse(p);
    // Errors of every size, far below what is allowed and far beyond it; and what is no number.
    for (double& x : values) {
      if (contract.lse.base == LseBase::two) x /= std::numbers::ln2;
      x += random.normal() * std::exp2(-random.uniform(0, 30));
      if (random.one_in(40)) x = std::numeric_limits<double>::quiet_NaN();
      if (random.one_in(40)) x = std::numeric_limits<double>::infinity();
      x = static_cast<double>(static_cast<float>(x));
    }
    const auto recorded = tensor_of(ElementType::binary32, {r.batch, r.q_heads, r.queries}, values);
    for (const Tolerance& tolerance : lse_tolerances()) {
      CAPTURE(seed);
      CAPTURE(describe(tolerance));
      const Answers slow = answers_of(problem, recorded, tolerance, false);
      const Answers fast = answers_of(problem, recorded, tolerance, true);
      CHECK(fast.result->verdict == slow.result->verdict);
      CHECK(fast.result->strength == slow.result->strength);
      CHECK(fast.result->tally.violations == slow.result->tally.violations);
      CHECK(fast.result->tally.undecided == slow.result->tally.undecided);
      REQUIRE(fast.decisions.size() == slow.decisions.size());
      for (const auto& [index, decision] : slow.decisions) {
        CAPTURE(index[1]);
        CAPTURE(index[2]);
        CHECK(fast.decisions.at(index).within == decision.within);
        if (decision.within.certainly_not()) {
          CHECK(fast.decisions.at(index).strength == decision.strength);
        }
      }
      rows += slow.result->tally.elements;
      by_filter += fast.result->tally.decided_by_filter;
      violations += slow.result->tally.violations;
    }
  }
  fmt::print("lse tiles: {} rows, {} decided by the filter, {} violations\n", rows, by_filter,
             violations);
  CHECK(by_filter > rows / (test::is_light() ? 8 : 4));
  CHECK(violations > 1000);
}

TEST_CASE("lse tiles: on a long history right and wrong rows are decided without enclosures") {
  test::Random random(5);
  constexpr std::int64_t heads = 2, rows = 16, keys = 2048, width = 16;
  const auto drawn = [&](std::int64_t count) {
    std::vector<double> values(static_cast<std::size_t>(count));
    for (double& x : values) x = static_cast<double>(static_cast<float>(random.normal()));
    return values;
  };
  const std::vector<double> query = drawn(heads * rows * width);
  const std::vector<double> key = drawn(keys * width);
  ProblemTensors tensors;
  tensors.query = tensor_of(ElementType::binary32, {1, heads, rows, width}, query);
  tensors.key = tensor_of(ElementType::binary32, {1, 1, keys, width}, key);
  tensors.value = tensors.key;
  std::vector<double> lse;
  for (std::size_t r = 0; r < heads * rows; ++r) {
    long double sum = 0;
    for (std::size_t j = 0; j < keys; ++j) {
      long double score = 0;
      for (std::size_t c = 0; c < width; ++c) {
        score += static_cast<long double>(query[r * width + c]) * key[j * width + c];
      }
      sum += std::exp(score / 4);
    }
    lse.push_back(static_cast<double>(static_cast<float>(std::log(sum))));
  }
  const AttentionProblem problem = make_problem(tensors, {});
  for (const double factor : {1.0, std::numbers::log2e}) {
    CAPTURE(factor);
    std::vector<double> given = lse;
    for (double& x : given) x = static_cast<double>(static_cast<float>(x * factor));
    const auto recorded = tensor_of(ElementType::binary32, {1, heads, rows}, given);
    const Answers fast = answers_of(problem, recorded, ModelTolerance{&f32_model}, true);
    CHECK(fast.result->verdict == (factor == 1 ? Verdict::pass : Verdict::fail));
    CHECK(fast.result->tally.violations == (factor == 1 ? 0 : heads * rows));
    CHECK(fast.result->tally.decided_by_filter == heads * rows);
  }
}
