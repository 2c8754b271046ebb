#include "gqa/audit/equal_keys.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "gqa/attention/seen_keys.hpp"

namespace gqa {
namespace {

std::int64_t most_equal(const AttentionProblem& problem, std::int64_t batch, std::int64_t kv_head) {
  const KeyRange seen = seen_keys(problem, batch);
  std::vector<double> key(static_cast<std::size_t>(problem.dimensions.key_size));
  EqualRows equal(problem.dimensions.key_size);
  std::int64_t most = 0;
  for (std::int64_t j = seen.begin; j < seen.end; ++j) {
    problem.key.read_rows(batch, kv_head, j, j + 1, key.data(), key.size());
    most = std::max(most, equal.add(key.data()));
  }
  return most;
}

bool is_certain(const AuditResult& result, double factor) {
  return std::ranges::any_of(result.tally.worst, [factor](const WorstElement& worst) {
    return worst.within.certainly_not() &&
           (!std::isfinite(worst.output) ||
            worst.absolute_error.lower > factor * worst.allowed.upper);
  });
}

}  // namespace

std::int64_t most_equal_keys(const AttentionProblem& problem) {
  std::int64_t most = 0;
  for (std::int64_t b = 0; b < problem.dimensions.batch; ++b) {
    for (std::int64_t g = 0; g < problem.dimensions.kv_heads; ++g) {
      most = std::max(most, most_equal(problem, b, g));
    }
  }
  return most;
}

void excuse_equal_keys(const AttentionProblem& problem, const Tolerance& tolerance,
                       AuditResult& result) {
  if (result.verdict != Verdict::fail || result.strength != FailureStrength::statistical ||
      !std::holds_alternative<ModelTolerance>(tolerance)) {
    return;
  }
  const std::int64_t most = most_equal_keys(problem);
  // A thousandth for the roundings of this line.
  if (most < 2 || is_certain(result, 1.001 * std::sqrt(static_cast<double>(most)))) return;
  result.verdict = Verdict::undecided;
  result.strength = FailureStrength::none;
  result.equal_keys = most;
}

}  // namespace gqa
