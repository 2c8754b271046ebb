// What rounding can explain: how an implementation rounds, and how far that can move it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gqa/audit/models/equal_classes.hpp"
#include "gqa/audit/models/likely_bound.hpp"
#include "gqa/audit/models/worst_bound.hpp"
#include "gqa/num/ball.hpp"
#include "gqa/num/float_format.hpp"

namespace gqa {

/// What each is stands in precision_presets.cpp.
extern const PrecisionModel f64_model;
extern const PrecisionModel f32_model;
extern const PrecisionModel bf16x3_model;
extern const PrecisionModel tf32_model;
extern const PrecisionModel f16_products_model;
extern const PrecisionModel bf16_products_model;
extern const PrecisionModel f16_f32_model;
extern const PrecisionModel bf16_f32_model;
extern const PrecisionModel f16_stored_model;
extern const PrecisionModel bf16_stored_model;
extern const PrecisionModel fp8_weights_model;
extern const PrecisionModel f16_model;
extern const PrecisionModel bf16_model;

/// All presets, from tight to loose.
std::span<const PrecisionModel* const> precision_models();
/// The model of that name, or nullptr. `model_names` lists those there are.
const PrecisionModel* find_precision_model(std::string_view name);
std::vector<std::string_view> model_names();

/// What rounding a result below the normal range of a format can change: half the spacing
/// of the subnormals of binary16 and float8, which hardware does not flush; the smallest
/// normal number of the others, which it may.
double underflow_error(const FloatFormat& format);

/// What one row gives to the bounds, all enclosed: sums over the visible keys, the sink
/// counted as a key whose value is zero.
struct RowRounding {
  std::int64_t key_size = 0;            ///< dk
  std::int64_t visible = 0;             ///< n
  Ball query_norm2;                     ///< |q|_2
  Ball query_norm4_squared;             ///< |q|_4^2
  Ball scale;                           ///< scale, positive
  std::vector<Ball> key_norm2;          ///< |k_j|_2 per visible key
  std::vector<Ball> key_norm4_squared;  ///< |k_j|_4^2 per visible key
  std::vector<Ball> raw_scores;         ///< scale q.k_j, before softcap and bias
  std::vector<Ball> scores;             ///< s_j as exponentiated
  std::vector<Ball> weights;            ///< w_j
  bool plain = true;                    ///< neither softcap nor bias: raw_scores == scores
  Ball softcap;                         ///< c; 0: none
  std::vector<Ball> biases;  ///< |mask_j| + |slope distance_j| where both are added; else empty
  std::optional<Ball> sink_score;
  std::optional<Ball> sink_weight;
  EqualClasses equal;  ///< of the visible keys
  /// For models that round operands: q, and k_j of the visible keys, one after the other.
  std::vector<Ball> query;
  std::vector<Ball> keys;
};

/// Both bounds of one output element.
struct RoundingBounds {
  Ball likely;
  Ball worst;

  /// What an element may be off by: the smaller of the two.
  Ball allowance() const { return worst.is_finite() ? min(likely, worst) : likely; }
};

/// The k-th visible key's score.
ScoreMagnitudes magnitudes_of(const RowRounding& row, std::size_t k);

/// The bounds of likely_bound.hpp and worst_bound.hpp for one row, column by column.
///
/// `worst`: no rounding of that model, in any order of summation, with any number of
/// online-softmax tiles and with parts of the history merged by their log-sum-exp, moves the
/// element further, as long as nothing overflows.
/// `likely`: lambda standard deviations of independent roundings, plus what does not average out.
/// Not a theorem.
class RoundingBound {
 public:
  /// Keeps references. `recorded`: how the output was rounded at last.
  RoundingBound(const PrecisionModel& model, const RowRounding& row,
                const FormatRounding& recorded);

  /// `values[k]` is v_c of the k-th visible key, a number of binary64; `output` encloses o_c.
  RoundingBounds column(std::span<const Ball* const> values, const Ball& output) const;

  const LikelyRow<Ball>& likely_row() const { return likely_row_; }
  const Ball& largest_score() const { return largest_score_; }
  /// sigma_k^2, and times w_k^2.
  Ball score_variance_of(std::size_t k) const;
  const Ball& weighted_variance(std::size_t k) const { return weighted_variance_[k]; }
  /// What keys that round alike add to the variance of the denominator.
  Ball equal_classes_of_denominator() const;
  RowExtremes extremes() const;

 private:
  void bound_weak_keys();
  Ball lost_values(std::span<const Ball* const> values, const Ball& unit) const;
  Ball largest_variance(const EqualClass& members) const;
  Ball equal_classes(std::span<const Ball* const> values, const Ball& output) const;
  Ball equal_values(std::span<const Ball* const> values) const;
  Ball query_covariance(std::span<const Ball* const> values, const Ball& output) const;

  const PrecisionModel& model_;
  const RowRounding& row_;
  FormatRounding recorded_;
  Ball largest_score_;
  std::vector<Ball> weighted_variance_;      // w_k^2 sigma_k^2 per visible key
  std::vector<Ball> weak_weights_;           // r_k w_k
  Ball weak_mean_;                           // of the scores under those
  std::vector<Ball> underflown_weights_;     // what their format loses of w_k; empty: nothing
  std::vector<Ball> score_class_variances_;  // largest sigma^2 of each class
  std::vector<Ball> key_class_variances_;
  std::vector<Ball> mean_key_;  // sum w_k k_k, for models that round operands
  LikelyRow<Ball> likely_row_;
  std::optional<WorstBound> worst_;
};

}  // namespace gqa
