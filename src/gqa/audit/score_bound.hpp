// What rounding can explain in scores, weights and the logarithm of the denominator.
#pragma once

#include "gqa/audit/precision_model.hpp"

namespace gqa {

/// One score on its way to the softmax, all enclosed.
struct ScoreRounding {
  std::int64_t key_size = 0;  ///< dk
  Ball scale;
  Ball query_norm2;          ///< |q|_2
  Ball query_norm4_squared;  ///< |q|_4^2
  Ball key_norm2;            ///< |k_j|_2
  Ball key_norm4_squared;    ///< |k_j|_4^2
  Ball raw;                  ///< scale q.k_j
  Ball score;                ///< after the steps that the output shows
  bool plain = true;         ///< score is raw: neither softcap nor bias came in between
};

/// Bounds of a recorded score (qk_matmul_output, modes 0 to 2).
RoundingBounds score_bounds(const PrecisionModel& model, const ScoreRounding& score);

/// Bounds of the weights and of lse of one row. Keeps a reference to `model`.
class WeightBound {
 public:
  WeightBound(const PrecisionModel& model, RowRounding row);

  /// Of the weight of the k-th visible key (qk_matmul_output, mode 3).
  RoundingBounds weight(std::size_t k) const;
  /// Of `lse`, which encloses the natural logarithm of the row's denominator.
  RoundingBounds lse(const Ball& lse) const;

 private:
  Ball score_variance(std::size_t k) const;
  Ball sink_variance() const;

  const PrecisionModel& model_;
  RowRounding row_;
  Ball largest_score_;
  Ball log_denominator_;         // ln of the sum of exp(s - largest), at least 0
  Ball mean_score_;              // sum w s, the sink's included
  std::vector<Ball> variances_;  // sigma_k^2 per visible key
  Ball weighted_variance_;       // sum w^2 sigma^2, the sink's included
  Ball above_;                   // numerators are too large by this factor at most
  Ball below_;                   // and too small by this one
};

}  // namespace gqa
