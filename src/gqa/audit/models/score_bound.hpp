// What rounding can explain in scores, weights and the logarithm of the denominator.
#pragma once

#include "gqa/audit/models/precision_model.hpp"

namespace gqa {

/// One score on its way to the softmax, all enclosed.
struct ScoreRounding {
  ScoreMagnitudes magnitudes;  ///< `plain`: neither softcap nor bias came before the output
  Ball query_norm4_squared;    ///< |q|_4^2
  Ball key_norm4_squared;      ///< |k_j|_4^2
};

/// Bounds of a recorded score (qk_matmul_output, modes 0 to 2).
RoundingBounds score_bounds(const PrecisionModel& model, const ScoreRounding& score,
                            const FormatRounding& recorded);

/// Bounds of the weights and of lse of one row. Keeps a reference to `model`.
class WeightBound {
 public:
  WeightBound(const PrecisionModel& model, RowRounding row, const FormatRounding& recorded);
  WeightBound(const WeightBound&) = delete;  // bound_ refers to row_
  WeightBound& operator=(const WeightBound&) = delete;

  /// Of the weight of the k-th visible key (qk_matmul_output, mode 3).
  RoundingBounds weight(std::size_t k) const;
  /// Of `lse`, which encloses the natural logarithm of the row's denominator.
  RoundingBounds lse(const Ball& lse) const;

 private:
  Ball normaliser_common() const;

  const PrecisionModel& model_;
  RowRounding row_;
  FormatRounding recorded_;
  RoundingBound bound_;
  Ball largest_score_;
  Ball log_denominator_;    // ln of the sum of exp(s - largest), at least 0
  Ball mean_score_;         // sum w s, the sink's included
  Ball weighted_variance_;  // of the normaliser: sum w^2 sigma^2, and what is common to all keys
  Ball above_;              // numerators are too large by this factor at most
  Ball below_;              // and too small by this one, the denominator's sum included
};

}  // namespace gqa
