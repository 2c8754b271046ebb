// Where weights are divided by their sum, and how.
#pragma once

#include <optional>
#include <vector>

#include "gqa/diagnose/arithmetic/weight_format.hpp"

namespace gqa {

enum class DivisionKind {
  quotient,          ///< sums of unnormalised weights, divided at the end
  reciprocal,        ///< the same, times 1 / sum rounded
  normalised_fused,  ///< weights are divided first; products are not rounded
  normalised_split   ///< weights are divided first; products are rounded
};

struct DivisionReading {
  std::vector<DivisionKind> kinds;  ///< every one that fits
  double share = 0;                 ///< of the columns, that the best kind predicts
  bool tells_normalised = false;    ///< weights that are divided first were among the models

  bool is_normalised() const;  ///< all that fit divide first (and there are some)
  bool is_last() const;        ///< all that fit divide last (and there are some)
};

/// In binary32: three equal keys and sums v1 - v2 + v3, of which each kind rounds a third
/// differently. Elsewhere: n equal keys and a sum n t, t halfway between two numbers of the type:
/// the quotient is the tie t, n t (1/n) may miss it. One call. nullopt: refused.
std::optional<DivisionReading> read_division(Experiments& experiments, const KeySums& sums,
                                             const ScoreSums& scores);

/// Are weights divided before or after the sums over keys, and how? `weights` may be null.
std::vector<ArithmeticEntry> division_entries(const std::optional<DivisionReading>& division,
                                              const std::optional<WeightReading>& weights,
                                              const KeySums& sums);

/// Subnormal numbers: value coordinates, and outputs that are subnormal; tells the experiments
/// whether those are flushed. One call.
std::vector<ArithmeticEntry> read_subnormals(Experiments& experiments);

}  // namespace gqa
