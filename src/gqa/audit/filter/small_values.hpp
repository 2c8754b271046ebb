// How many values of a column are small, for what running sums may lose.
#pragma once

#include <cstdint>
#include <vector>

#include "gqa/attention/attention_problem.hpp"

namespace gqa {

/// Counts of the values of one KV head and batch entry by their binary exponents.
class SmallValues {
 public:
  /// Reads all values [S, dv] of the history once.
  SmallValues(const AttentionProblem& problem, std::int64_t batch, std::int64_t kv_head);

  /// At least as many as there are keys with |v_jc| < `bound`, which is not negative; those that
  /// are not finite among them.
  std::int64_t count_below(std::int64_t column, double bound) const;

 private:
  static constexpr int lowest = -40, levels = 64;  // exponents that are told apart
  static std::size_t index(std::int64_t column, int level) {
    return static_cast<std::size_t>(column * levels + level);
  }

  std::vector<std::int64_t> counts_;  // [column, level]: exponents up to lowest + level
};

}  // namespace gqa
