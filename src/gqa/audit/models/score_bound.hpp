// What rounding can explain in scores, weights and the logarithm of the denominator.
#pragma once

#include "gqa/audit/models/precision_model.hpp"
#include "gqa/audit/models/worst_bound.hpp"

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

/// What the logarithm of a row's denominator is made of.
struct LseParts {
  Ball largest;          ///< the largest score or sink
  Ball log_denominator;  ///< ln of the sum of exp(s - largest), at least 0
  Ball lse;              ///< their sum
};

/// The factor, at most 1, by which a computed denominator of a row may be too small. Not finite if
/// it may vanish: then nothing is bounded.
Ball least_denominator(const PrecisionModel& model, const RowExtremes& row, const LseParts& parts);
/// What the steps after the sum may move lse by.
Ball lse_rounding(const PrecisionModel& model, const LseParts& parts);
/// RoundingBounds::worst of lse, given least_denominator.
Ball worst_lse(const PrecisionModel& model, const Ball& least_denominator, std::int64_t visible,
               const LseParts& parts, const FormatRounding& recorded);
/// What is lost of a denominator of so many keys where its terms underflow.
Ball lse_underflow(const PrecisionModel& model, std::int64_t visible);
/// What storing a number of that magnitude moves it by.
Ball stored_output(const FormatRounding& recorded, const Ball& magnitude);

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
