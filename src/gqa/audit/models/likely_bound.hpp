// What roundings of a model are likely to do to one output element, written once: in balls for the
// verdict, in binary64 for the rungs before it.
//
// Roundings are taken as independent, with mean zero and variance u^2/3 (Higham and Mary, "A new
// approach to probabilistic rounding error analysis", SIAM J. Sci. Comput. 41(5), 2019), so that
// errors of different keys add in the mean square; what is common to all keys, or always has the
// same sign, is added on top. Notation: s_j scores, x_j = s_j - max s, w_j weights, n visible keys,
// sd_w weighted standard deviations, A_c = |o_c| + sqrt(sum w_j^2 v_jc^2).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "gqa/audit/models/rounding_units.hpp"

namespace gqa {

/// What the exponent of one key, or a mean over keys of such, is made of.
template <class T>
struct ScoreSquares {
  T products = T(0);  ///< scale^2 |q|_4^2 |k_j|_4^2
  T raw = T(0);       ///< (scale q.k_j)^2
  T score = T(0);     ///< s_j^2, after softcap and bias
  T distance = T(0);  ///< x_j^2 = (s_j - max s)^2
  T bias = T(0);      ///< (|mask_j| + |slope distance_j|)^2 where both are added, one by one
};

/// The variance of a score before it is exponentiated:
///   u_s^2 ((dk/6 + 2/3) scale^2 |q|_4^2 |k_j|_4^2 + dk/9 raw_j^2)
///   + 2/3 u_x^2 scale^2 |q|_4^2 |k_j|_4^2 + 2/3 u_q^2 raw_j^2
/// dk/6 and dk/9 are the mean squares of the partial sums of a random walk and of a sum of equal
/// signs; 2/3: query and key scaled before the product, or rounded (u_x); a stored score is rounded
/// after the product and again after the scale.
/// Softcap and bias, where declared (`plain` is false), round the score they leave: 4 + 1
/// further roundings of relative size u_e (tanh, its argument, the product, the addition), and the
/// sum of two biases twice; softcap itself is 1-Lipschitz, so the earlier error passes through
/// undiminished at most. Linear and rising in all squares.
template <class T>
T stored_score_variance(const PrecisionModel& model, std::int64_t key_size, bool plain,
                        const ScoreSquares<T>& squares) {
  const T dk(static_cast<double>(key_size));
  const T us2(model.score * model.score);
  const T uq2(model.stored_score * model.stored_score);
  const T ue2(model.exponential * model.exponential);
  const T ux2(model.operand * model.operand);
  const T two_thirds = T(2) / T(3);
  T variance = us2 * ((dk / T(6) + two_thirds) * squares.products + dk * squares.raw / T(9)) +
               two_thirds * (ux2 * squares.products + uq2 * squares.raw);
  if (!plain) {
    variance += ue2 / T(3) * (T(4) * squares.score + squares.raw + T(2) * squares.bias);
  }
  return variance;
}

/// sigma_j^2: that, and the exponential with its argument, u_e^2/3 (raw_j^2 + x_j^2 + 4).
template <class T>
T score_variance(const PrecisionModel& model, std::int64_t key_size, bool plain,
                 const ScoreSquares<T>& squares) {
  const T ue2(model.exponential * model.exponential);
  return stored_score_variance(model, key_size, plain, squares) +
         ue2 / T(3) * (squares.raw + squares.distance + T(4));
}

/// w^2 sigma^2 of the sink, whose logit is exact: u_e^2/3 (s^2 + x^2 + 4) w^2.
template <class T>
T sink_score_variance(const PrecisionModel& model, const T& weight, const T& score,
                      const T& distance) {
  const T ue2(model.exponential * model.exponential);
  return weight * weight * ue2 / T(3) * (score * score + distance * distance + T(4));
}

/// What a class of keys with equal scores adds to the variance. They have one rounding of the score
/// and exponential, which moves the output by sigma |sum w_j (v_j - o)|, and one of the weight, by
/// u_p |sum w_j v_j|. Beside the terms of the keys one by one, since not all roundings of equal
/// scores need be equal. `variance`: the largest sigma_j^2.
template <class T>
T equal_scores_variance(const PrecisionModel& model, const T& variance, const T& away,
                        const T& weighted_sum) {
  const T up2(model.weight * model.weight);
  return variance * away * away + up2 / T(3) * weighted_sum * weighted_sum;
}

/// The same of keys with equal values v, for models that round them: u_v |v| sum w_j.
template <class T>
T equal_values_variance(const PrecisionModel& model, const T& weight, const T& value) {
  const T uv2(model.value * model.value);
  return uv2 / T(3) * weight * weight * value * value;
}

/// What rounds in a running sum of n terms, times its unit roundoff squared: (n/6) of the squares
/// of the terms as a random walk, (n/9) of the square of the sum. c equal terms have one error
/// while the sum stays between two powers of two, a multiple of the same unit: half of them at most
/// at once, of half of the unit, which makes c^2/45 for c/9 and about c^2/24 for c/6. `equal`: the
/// sum of c^2.
template <class T>
T walk_variance(const T& terms, const T& equal) {
  return terms / T(6) + equal / T(24);
}
template <class T>
T sum_variance(const T& terms, const T& equal) {
  return terms / T(9) + equal / T(45);
}

/// The part of a term that is lost, the same way each time, where numbers are `unit` apart by two:
/// all of one below the unit, a unit of a larger one, and nothing from `gone` units on, since such
/// terms are rounded up as often as down. Continuous, so that no verdict hangs on one key.
template <class T>
T lost_part(const T& term, const T& unit, int gone) {
  using std::max;
  using std::min;
  return max(T(0), min(min(term, unit), T(gone) * unit - term));
}
/// `gone` of terms of a running sum, whose unit is the roundoff of the sum.
inline constexpr int gone_from_sum = 5;
/// `gone` of weights near the smallest numbers of their format.
inline constexpr int gone_from_format = 9;

/// How much of a key of that weight counts among those that do not dominate: 1 up to 8/n, 0 from
/// 16/n on.
template <class T>
T weak_share(const T& weight, const T& visible) {
  using std::max;
  using std::min;
  return max(T(0), min(T(1), T(2) - weight * visible / T(8)));
}

/// What the bound needs of one row. A coherence is the part of the roundings of equal numbers
/// that is common to all: 1 if they are equal, less where they spread.
template <class T>
struct LikelyRow {
  T visible = T(0);                 ///< n
  T key_size = T(0);                ///< dk
  T sink_variance = T(0);           ///< w^2 sigma^2 of the sink, 0 without one
  T score_deviation = T(0);         ///< sd_w(s), the sink counted
  T weight_coherence = T(0);        ///< of the weights: u_p over sd_w(s) of the keys
  T weak_coherence = T(0);          ///< the same over the keys that do not dominate (weak_share)
  T stored_score_coherence = T(0);  ///< of stored scores: 2 u_q max |s| over sd(s), those keys
  T denominator_coherence = T(0);   ///< of their sum: 2 u_l over the weights' sd over the keys
  T lost_weights = T(0);            ///< sum of lost_part(w_j, u_l, gone_from_sum)
  T weight_underflow = T(0);        ///< t_p, as row_weight_underflow
  T equal_weights = T(0);           ///< sum of c^2 over classes of c equal scores
};

/// What the bound needs of one column: sums over the visible keys of the row.
template <class T>
struct LikelyColumn {
  T output = T(0);                  ///< |o_c|
  T spread = T(0);                  ///< sum w_j^2 sigma_j^2 (v_jc - o_c)^2
  T weighted_squares = T(0);        ///< sum w_j^2 v_jc^2
  T squares = T(0);                 ///< sum v_jc^2
  T sum = T(0);                     ///< |sum v_jc|
  T value_deviation = T(0);         ///< sd_w(v_c), the sink counted as a zero
  T accumulation_coherence = T(0);  ///< 2 u_a |o_c| over the sd over the keys of w_j v_jc
  T value_coherence = T(0);         ///< of rounded values: 2 u_v |o_c| over sd_w(v_c)
  T weak_output = T(0);             ///< |sum r_j w_j v_jc|, r = weak_share
  T score_covariance = T(0);        ///< |sum r_j w_j (s_j - mean_r s) v_jc|
  T query_covariance = T(0);        ///< scale^2 sum_t q_t^2 Cov_w(k_t, v_c)^2
  T lost_values = T(0);             ///< sum of lost_part(w_j |v_jc|, u_a A_c, gone_from_sum)
  T underflown_values = T(0);       ///< sum of lost_part(w_j, t_p, gone_from_format) |v_jc|
  T equal_classes = T(0);           ///< what keys that round alike add to the variance
};

/// `spacing` of roundings over the `deviation` of what is rounded, at most 1.
inline double coherence(double spacing, double deviation) {
  return deviation > spacing ? spacing / deviation : 1;
}

/// t_p of a row whose sum of exp(s_j - max s) is `denominator`.
template <class T>
T row_weight_underflow(const PrecisionModel& model, const T& denominator) {
  const T underflow(model.weight_underflow);
  return model.weights_scaled ? underflow / denominator : underflow;
}

/// A_c.
template <class T>
T accumulated_magnitude(const LikelyColumn<T>& column) {
  using std::sqrt;
  return column.output + sqrt(column.weighted_squares);
}

/// var_c = sum w_j^2 sigma_j^2 (v_jc - o_c)^2 + ((u_p^2 + u_v^2)/3 + u_a^2 n/6) sum w_j^2 v_jc^2
///         + (u_a^2 + u_l^2) n/9 o_c^2, with what equal terms add (walk_variance, sum_variance)
///         + u_x^2/3 scale^2 sum_t q_t^2 Cov_w(k_t, v_c)^2
///         + (t_p^2 + t_i^2)/3 sum v_jc^2 + 2 t_i^2/3 n (1 + o_c^2)
///         + equal_scores_variance of classes of equal scores, the first term of it of classes of
///           equal keys, and equal_values_variance of classes of equal values
/// Third line: the rounding of the query is common to all keys. Fourth line, with t_p, t_i the
/// weight's and the inner underflow: a weight below the normal range, its product with v, and the
/// sums' rescalings.
template <class T>
T likely_variance(const PrecisionModel& model, const LikelyRow<T>& row,
                  const LikelyColumn<T>& column) {
  const T& n = row.visible;
  const T o2 = column.output * column.output;
  const T upv2(model.weight * model.weight + model.value * model.value);
  const T ua2(model.accumulation * model.accumulation);
  const T ul2(model.denominator * model.denominator);
  const T ux2(model.operand * model.operand);
  const T tp2 = row.weight_underflow * row.weight_underflow;
  const T ti2(model.inner_underflow * model.inner_underflow);
  const T tiny = (tp2 + ti2) / T(3) * column.squares + ti2 * T(2) / T(3) * n * (T(1) + o2);
  const T& equal = row.equal_weights;
  return column.spread + row.sink_variance * o2 +
         (upv2 / T(3) + ua2 * walk_variance(n, equal)) * column.weighted_squares +
         (ua2 + ul2) * sum_variance(n, equal) * o2 + ux2 / T(3) * column.query_covariance + tiny +
         column.equal_classes;
}

/// What is common to all keys or has always the same sign:
///   (u_s + u_e) sd_w(s) sd_w(v_c)                      a rounded scale
///   max((u_p |o_c| + t_p |sum v_jc|) k(u_p, sd_w(s)),  weights that are equal round equally, all
///   of
///       u_p |sum r w v_c| k(u_p, sd_r(s)))             them or those that do not dominate. Spread
///     over more than a few roundings they do not: the mean of a sawtooth of period 2 u_p over a
///     spread sd falls faster than u_p / sd. k(q, sd) = q / max(q, sd)
///   u_v |o_c| k(2 u_v |o_c|, sd_w(v_c))                values that are equal
///   |sum r w (s - mean) v_c| k(2 u_q max|s|, sd_r(s))  stored scores that are equal
///   n/2 |o_c| (u_a k(2 u_a |o_c|, sd(w_j v_jc)) + u_l k(2 u_l, sd(w_j)))
///     a running sum of equal terms rounds the same way for half its length or stalls; terms that
///     spread by more than the last partial sum's spacing do not
///   lost_values + |o_c| lost_weights                   a running sum beside one large term loses
///     what is below its rounding. Numerator and denominator lose at different thresholds, so that
///     their losses do not cancel
///   underflown_values                                  weights below their format's smallest
///   u_a n/K A_c + u_s dk/K sd_w(s) sd_w(v_c)           accumulators that round toward zero
template <class T>
T likely_common(const PrecisionModel& model, const LikelyRow<T>& row,
                const LikelyColumn<T>& column) {
  using std::max;
  const T& o = column.output;
  const T covariance = row.score_deviation * column.value_deviation;
  const T equal_weights =
      max(row.weight_coherence * (T(model.weight) * o + row.weight_underflow * column.sum),
          row.weak_coherence * T(model.weight) * column.weak_output);
  const T stalled = T(model.denominator) * row.denominator_coherence +
                    T(model.accumulation) * column.accumulation_coherence;
  T common = T(model.score + model.exponential) * covariance + equal_weights +
             column.value_coherence * T(model.value) * o +
             row.stored_score_coherence * column.score_covariance +
             row.visible / T(2) * stalled * o + column.lost_values + o * row.lost_weights +
             column.underflown_values;
  if (model.products_at_once > 0) {
    const T at_once(model.products_at_once);
    common += T(model.accumulation) * row.visible / at_once * accumulated_magnitude(column) +
              T(model.score) * row.key_size / at_once * covariance;
  }
  return common;
}

/// likely_c = lambda sqrt(var_c) + what is common + max(u_o |o_c|, t_o)
/// Rising in every member of `row` and `column`, so that bounds of them give bounds of it.
template <class T>
T likely_bound(const PrecisionModel& model, const LikelyRow<T>& row, const LikelyColumn<T>& column,
               const FormatRounding& recorded) {
  using std::max;
  using std::sqrt;
  return T(model.lambda) * sqrt(likely_variance(model, row, column)) +
         likely_common(model, row, column) +
         max(T(recorded.roundoff) * column.output, T(recorded.underflow));
}

}  // namespace gqa
