// The format of stored weights and of the exponential, from what is left of a weight.
#pragma once

#include <optional>
#include <vector>

#include "gqa/diagnose/arithmetic/entry.hpp"
#include "gqa/diagnose/arithmetic/experiments.hpp"
#include "gqa/diagnose/arithmetic/key_sums.hpp"
#include "gqa/diagnose/arithmetic/score_sums.hpp"

namespace gqa {

/// One way to compute a weight: exp(s1 - s0) with both scores and the exponential in some format,
/// divided by the sum before it is stored or not, stored in some format.
struct WeightModel {
  NarrowFormat score = NarrowFormat::binary32;
  NarrowFormat exponential = NarrowFormat::binary32;
  NarrowFormat stored = NarrowFormat::binary32;
  bool normalised = false;
};

struct WeightReading {
  std::vector<WeightModel> models;  ///< every one that fits
  double share = 0;                 ///< of the rows, that the best model predicts

  /// exponential, stored weights
  std::vector<ArithmeticEntry> entries() const;
};

/// Each row has two keys with scores A and A - d, the others far below; the value of the second is
/// v, that of the first -c, c the type's nearest number to v exp(-d). The output is what rounding
/// the weight left: v w - c, over the sum of weights. Every model predicts it; those that predict
/// most rows fit. One call. nullopt: refused, or dk is no power of four.
std::optional<WeightReading> read_weight_format(Experiments& experiments, const KeySums& sums,
                                                const ScoreSums& scores);

}  // namespace gqa
