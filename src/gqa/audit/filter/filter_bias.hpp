// The bias and the boolean mask of one row over one block of keys.
#pragma once

#include <cstdint>
#include <limits>

#include "gqa/attention/attention_problem.hpp"

namespace gqa {

/// The score of a key that a row does not see.
inline constexpr double hidden_score = -std::numeric_limits<double>::infinity();

/// One row of the problem, for bias and mask.
struct BiasRow {
  std::int64_t batch = 0;
  std::int64_t head = 0;
  std::int64_t row = 0;
};

/// Does the problem need fill_bias at all?
inline bool needs_bias(const AttentionProblem& problem) {
  return problem.has_bias() || problem.visibility.has_mask();
}

struct BiasResult {
  std::int64_t visible = 0;  ///< keys that the mask allows
  bool finite = true;        ///< of those, all biases are finite numbers
};

/// to[j - begin] <- bias of key j, for keys [begin, end) that the row's range allows:
/// fma(-slope, |p - j|, mask bias), rounded once; minus infinity where the mask hides it.
BiasResult fill_bias(const AttentionProblem& problem, const BiasRow& at, std::int64_t begin,
                     std::int64_t end, double* to);

/// to[j - begin] <- |mask bias| + |slope distance| of key j, rounded up; for visible keys only.
/// Precondition: AttentionProblem::has_two_biases.
void fill_bias_magnitudes(const AttentionProblem& problem, const BiasRow& at, std::int64_t begin,
                          std::int64_t end, double* to);

}  // namespace gqa
