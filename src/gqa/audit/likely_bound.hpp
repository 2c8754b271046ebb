// The likely bound of THEORY 3, written once: in balls for the verdict, in binary64 for the
// rungs before it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "gqa/audit/rounding_units.hpp"

namespace gqa {

/// What the exponent of one key, or a mean over keys of such, is made of.
template <class T>
struct ScoreSquares {
  T products;  ///< scale^2 |q|_4^2 |k_j|_4^2
  T raw;       ///< (scale q.k_j)^2
  T score;     ///< s_j^2, after softcap and bias
  T distance;  ///< x_j^2 = (s_j - max s)^2
};

/// sigma_j^2 = u_s^2 (dk/6 scale^2 |q|_4^2 |k_j|_4^2 + dk/9 s_j^2) + u_q^2/3 s_j^2
///             + u_e^2/3 (s_j^2 + x_j^2 + 4)                                   (THEORY 3)
/// Softcap and bias, where declared (`plain` is false), round the score they leave: 4 + 1
/// further roundings of relative size u_e (tanh, its argument, the product, the addition);
/// softcap itself is 1-Lipschitz, so the earlier error passes through undiminished at most.
/// Linear and rising in all squares.
template <class T>
T score_variance(const PrecisionModel& model, std::int64_t key_size, bool plain,
                 const ScoreSquares<T>& squares) {
  const T dk(static_cast<double>(key_size));
  const T us2(model.score * model.score);
  const T uq2(model.stored_score * model.stored_score);
  const T ue2(model.exponential * model.exponential);
  T variance = us2 * (dk * squares.products / T(6) + dk * squares.raw / T(9));
  variance += uq2 / T(3) * squares.raw;
  variance += ue2 / T(3) * (squares.raw + squares.distance + T(4));
  if (!plain) variance += ue2 / T(3) * (T(4) * squares.score + squares.raw);
  return variance;
}

/// w^2 sigma^2 of the sink, whose logit is exact: u_e^2/3 (s^2 + x^2 + 4) w^2.
template <class T>
T sink_score_variance(const PrecisionModel& model, const T& weight, const T& score,
                      const T& distance) {
  const T ue2(model.exponential * model.exponential);
  return weight * weight * ue2 / T(3) * (score * score + distance * distance + T(4));
}

/// What the bound needs of one row. A coherence is the part of the roundings of equal numbers
/// that is common to all: 1 if they are equal, less where they spread.
template <class T>
struct LikelyRow {
  T visible = T(0);                ///< n
  T sink_variance = T(0);          ///< w^2 sigma^2 of the sink, 0 without one
  T score_deviation = T(0);        ///< sd_w(s), the sink counted
  T weight_coherence = T(0);       ///< of the weights: u_p over sd_w(s) of the keys
  T denominator_coherence = T(0);  ///< of their sum: 2 u_l over the weights' sd over the keys
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
};

/// How the recorded output was rounded: PrecisionModel::output_roundoff and _underflow.
struct FormatRounding {
  double roundoff;
  double underflow;
};

/// `spacing` of roundings over the `deviation` of what is rounded, at most 1.
inline double coherence(double spacing, double deviation) {
  return deviation > spacing ? spacing / deviation : 1;
}

/// var_c = sum w_j^2 sigma_j^2 (v_jc - o_c)^2 + (u_p^2/3 + u_a^2 n/6) sum w_j^2 v_jc^2
///         + (u_a^2 + u_l^2) n/9 o_c^2                                         (THEORY 3)
///         + (t_p^2 + t_i^2)/3 sum v_jc^2 + 2 t_i^2/3 n (1 + o_c^2)
/// The last line, with t_p, t_i the storage's and the inner underflow: a weight below the normal
/// range, its product with v, and the sums' rescalings.
template <class T>
T likely_variance(const PrecisionModel& model, const LikelyRow<T>& row,
                  const LikelyColumn<T>& column) {
  const T& n = row.visible;
  const T o2 = column.output * column.output;
  const T up2(model.weight * model.weight);
  const T ua2(model.accumulation * model.accumulation);
  const T ul2(model.denominator * model.denominator);
  const T tp2(model.storage_underflow * model.storage_underflow);
  const T ti2(model.inner_underflow * model.inner_underflow);
  const T tiny = (tp2 + ti2) / T(3) * column.squares + ti2 * T(2) / T(3) * n * (T(1) + o2);
  return column.spread + row.sink_variance * o2 +
         (up2 / T(3) + ua2 * n / T(6)) * column.weighted_squares + (ua2 + ul2) * n / T(9) * o2 +
         tiny;
}

/// likely_c = lambda sqrt(var_c) + (u_s + u_e) sd_w(s) sd_w(v_c) + u_o |o_c|     (THEORY 3)
///            + (u_p |o_c| + t_p |sum v_jc|) u_p / max(u_p, sd_w(s))
///            + n/2 |o_c| (u_a k(2 u_a |o_c|, sd(w_j v_jc)) + u_l k(2 u_l, sd(w_j)))
/// Second line: weights that are equal round equally. Spread over more than a few roundings, they
/// do not: the mean of a sawtooth of period 2 u_p over a spread sd falls faster than u_p / sd.
/// Third line, with k(q, sd) = q / max(q, sd) and sd over the keys: a running sum of equal terms
/// rounds the same way for half its length or stalls. Terms that spread by more than the last
/// partial sum's spacing q do not.
/// Rising in every member of `row` and `column`, so that bounds of them give bounds of it.
template <class T>
T likely_bound(const PrecisionModel& model, const LikelyRow<T>& row, const LikelyColumn<T>& column,
               const FormatRounding& recorded) {
  using std::max;
  using std::sqrt;
  const T& o = column.output;
  const T common =
      T(model.score + model.exponential) * row.score_deviation * column.value_deviation +
      row.weight_coherence * (T(model.weight) * o + T(model.storage_underflow) * column.sum);
  const T drift = T(model.denominator) * row.denominator_coherence +
                  T(model.accumulation) * column.accumulation_coherence;
  return T(model.lambda) * sqrt(likely_variance(model, row, column)) + common +
         row.visible / T(2) * drift * o + max(T(recorded.roundoff) * o, T(recorded.underflow));
}

}  // namespace gqa
