// Where the scale is applied, and the base of the exponential.
#pragma once

#include <optional>
#include <vector>

#include "gqa/diagnose/arithmetic/weight_format.hpp"

namespace gqa {

enum class ScalePlace {
  query,           ///< q is multiplied and rounded to its type
  both,            ///< q and k are multiplied by the square root
  score,           ///< the score is multiplied and rounded
  exponent_factor  ///< the score is multiplied by scale log2 e within the argument of exp2
};
std::string_view name(ScalePlace place);

struct ScaleModel {
  ScalePlace place = ScalePlace::score;
  bool base_two = false;
};

struct ScaleReading {
  std::vector<ScaleModel> models;  ///< every one that fits
  double share = 0;                ///< of the arguments, that the best model predicts

  /// place of the scale, base of the exponential
  std::vector<ArithmeticEntry> entries() const;
};

/// Of 40,000 arguments those where each two models lie farthest apart are asked: one key of score
/// 0, one of score -g k scale. dk = 96, so that the scale rounds. One call. nullopt: refused.
std::optional<ScaleReading> read_scale_place(Experiments& experiments, const WeightModel& weights,
                                             const KeySums& sums, const ScoreSums& scores);

}  // namespace gqa
