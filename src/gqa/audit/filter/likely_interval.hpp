// The likely bound of a precision model between two cheap ones, from a tile's sums.
#pragma once

#include <optional>

#include "gqa/audit/filter/equal_history.hpp"
#include "gqa/audit/filter/filter.hpp"
#include "gqa/audit/filter/interval_decision.hpp"
#include "gqa/audit/filter/small_values.hpp"
#include "gqa/audit/filter/vector_decision.hpp"
#include "gqa/audit/models/precision_model.hpp"

namespace gqa {

/// What is the same for all rows that are judged by one model.
struct LikelyContext {
  const PrecisionModel& model;
  std::int64_t key_size;    ///< dk
  FormatRounding recorded;  ///< how the output was rounded
  bool plain;               ///< neither softcap nor bias
  bool two_biases = false;  ///< mask and slopes: see AttentionProblem::has_two_biases
  bool biased = false;      ///< a mask or slopes
  std::shared_ptr<EqualHistories> equal = {};  ///< of the problem
};

/// An upper bound's absolute share: every number that underflows in binary64 on the way to a
/// likely bound is below 2^-1022, its square root below 2^-511, and there are fewer than
/// 2^20 n (1 + A) of them.
inline double underflow_allowance(double visible, double largest) {
  return 0x1p-490 * visible * (1 + largest);
}

/// Bounds RoundingBounds::likely for the elements of one row of a filter tile.
///
/// RoundingBound::column needs sums over the keys of each column that no product gives
/// cheaply. With a^2 = sum w^2 v^2 (the third product), b^2 = sum w^2 and A >= |v|:
///   lower: sigma_j^2 >= u_s^2 dk/6 q4 min k4 + 4 u_e^2/3 for every key, and by Minkowski
///          sum w^2 (v - o)^2 >= (a - |o| b)^2; the sink and every coherence at least zero;
///   upper: the same with max k4 and (a + |o| b)^2, while the terms in s_j^2 and x_j^2 are
///          at most (A + |o|)^2 times sum w^2 s^2 and sum w^2 x^2; sd_w(v) <= A; sums of |v|
///          at most n A; coherences from sum w^2 and a^2 where those are known, else one.
///          With softcap or bias the sums of raw scores are not known: by Cauchy-Schwarz
///          (scale q.k_j)^2 <= dk q4 max k4. Fewer than min(n/8, (b n/8)^2) keys have a weight
///          beyond 8/n, so that those that do not dominate sum to at most |o| + a times the root of
///          that; sum r w |s - mean_r| |v| <= A sd_w(s); each running sum loses at most a unit
///          (lost_part) of a key whose term is below gone_from_sum units, which is a key whose
///          value is below that over the row's smallest weight; by Cauchy-Schwarz again the
///          covariance of the query is at most q4 max k4 A^2. At most c keys of one score, and c'
///          of one row of values: (sum of c numbers)^2 <= c (sum of their squares), so that
///          equal scores and equal keys add at most 2 c times the spread and c times the weights'
///          part, or what any classes may. With two biases, or equal scores and a bias, nothing.
///   worst case, lower: without the scores' errors, which need more than the row's sums, it is a
///   sum
///          of roundings times sum w |v| >= max(|o|, a), and of others times |o|.
/// What lies between the two is for the next rung. A factor of 10^-3 on both sides covers
/// that the row's sums are themselves computed in binary64 and binary32 (docs/tolerance.md, "The
/// two bounds").
class LikelyInterval {
 public:
  /// Keeps references. `sink`: the logit of the row's head, if there is one; `most_equal_values`:
  /// of the tile's history, or 1 if the model does not round values and no scores are equal.
  LikelyInterval(const LikelyContext& context, const FilterTile& tile, std::size_t row,
                 std::optional<double> sink, const EqualHistory* equal = nullptr);

  /// Bounds of the allowance, for an element whose reference is known within `radius`; nothing is
  /// known where the sums are not accurate enough.
  /// `values`: of the tile's history; null: every key may be one whose value is small.
  Interval allowance(std::int64_t column, double radius,
                     const SmallValues* values = nullptr) const {
    if (!usable_) return {0, std::numeric_limits<double>::infinity()};
    return {lower(column, radius), upper(column, radius, values)};
  }

  /// error <= lower()? for the whole row at a price of ten operations an element:
  /// (a - |o| b)^2 >= a^2/2 - (o b)^2. nullopt: the sums are not accurate enough.
  std::optional<LikelyAllowance> sure_allowance() const;

  /// Bounds of the allowance, RoundingBounds::allowance(), for an element whose reference is known
  /// within `radius`.
  double lower(std::int64_t column, double radius) const;
  double upper(std::int64_t column, double radius, const SmallValues* values = nullptr) const;
  /// At least LikelyColumn::lost_values of the element.
  double lost_values(std::int64_t column, double radius, const SmallValues* values) const;

 private:
  void bound_scores();
  void bound_worst();
  void bound_weights();
  double keys_that_lose(std::int64_t column, double unit, const SmallValues* values) const;
  double likely_lower(std::int64_t column, double radius) const;
  void bound_sink(double logit);
  Interval squares(std::int64_t column) const;
  void bound_equal_sizes();
  double equal_classes(std::int64_t column, const LikelyColumn<double>& sums) const;
  LikelyColumn<double> largest_sums(std::int64_t column, double radius) const;

  const LikelyContext& context_;
  const FilterTile& tile_;
  std::size_t row_;
  const EqualHistory* equal_;
  bool usable_;              // the sums are as accurate as stated
  double b_ = 0;             // sqrt(sum w^2)
  double per_square_ = 0;    // of var_c, at least: per sum w^2 v^2
  double key_weight_ = 1;    // sum w, at most
  double least_weight_ = 0;  // of a visible key, at least
  double least_sigma2_ = 0;  // of any key, without the terms in s and x
  double most_sigma2_ = 0;
  double score_sum_ = 0;            // sum w^2 times the terms in s and x of sigma^2
  double mean_score_variance_ = 0;  // sum w times those
  double worst_per_magnitude_ = 0;  // of the worst case, at least: times sum w |v|
  double worst_per_output_ = 0;     // times |o|
  LikelyRow<double> least_;
  LikelyRow<double> most_;
};

}  // namespace gqa
