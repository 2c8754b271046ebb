// The worst that the rounding of a precision model does to a gradient.
//
// The class of algorithms: every backward pass that
//   - recomputes the scores, or keeps them as the model stores scores, and makes the weights
//     exp(s - lse) from a kept log-sum-exp (in the precision of exp), or keeps the weights as the
//     model stores weights;
//   - has delta_i = sum_c g_ic o_ic from the output as it was stored, or sum_j w_ij (g_i.v_j);
//   - multiplies ds_ij = w_ij (g_i.v_j - delta_i) softcap' with the scale anywhere, rounds w and
//     ds at most twice to the model's weight type, and sums products in the accumulator's
//     precision, in any order and any partition;
//   - stores what each query head adds to a shared key or value at most once in the recorded
//     format before the group is summed, and grad_query once more.
// That is FlashAttention's backward pass (Dao et al. 2022, algorithm 4; Dao 2023) with or without
// an expansion of the heads, and the plain one. Nothing may overflow.
//
// Every step is written as its logarithm: m roundings with unit roundoff u change a term by a
// factor between (1 - u)^m and (1 - u)^-m, so by exp(+-m l(u)) with l(u) = u / (1 - u) >=
// -ln(1 - u). Constants are generous (at least the roundings that are there); M = scale |q| |k|.
//
//   Scores (worst_bound.cpp): D >= |computed s - s|. For keys that matter, |x_j| = lse - s_j <= X
//   = 200 and |s_j| <= S: S = M and X = |lse| + M where nothing is added to scores, else S = |lse|
//   + X; a sink counts as a key with that score. Other keys weigh less than e^-200, exactly and
//   computed (errors grow by less than |x_j| / 2), which is an absolute term. Exponents: E = D + 4
//   u_e (X + 3 D + S + ln(n + 1) + 1), as in worst_bound.cpp. The lse is off by E and the roundings
//   of its sum, is rounded and kept, and subtracted again: L_w = 2 E + 8 u_e (X + |lse| + S + ln(n
//   + 1) + 1) + (n + 4) l(4 u_e) + (2 n + 6) l(u_l)
//         + 2 l(u_p) + 2 l(u_q) + l(2 n (4 t_i + t_p)),
//   the last for underflow in the denominator. |w^ - w| <= (e^L_w - 1) w + tiny_w.
//   g.v: c_dp |g| |v| with dv + 2 roundings, stored twice at most.
//   delta: both ways are sums over keys and columns of terms w |g_c| |v_jc|, at most |g| V
//   together (V the largest |v_j|), times e^L_delta - 1 with L_delta = L_w + l(u_p) +
//   (2 n + dv + 8) l(u_a) + 2 l(u_q) + 2 l(u_o).
//   So the difference a = g.v - delta is off by e_a = (c_dp + c_delta) |g| V + tiny_a.
//   ds: |ds^ - ds| <= (1 + c) e_a w + c w |a| + tiny_ds, c = e^(L_w + 2 l(u_p) + 2 l(u_q) +
//   6 l(u_a) + 6 l(u_s)) (1 + slope) - 1, slope = 2 D / cap + 10 l(u_e) the absolute error of
//   softcap's derivative 1 - tanh^2, which is at most 1 and 2-Lipschitz in tanh.
//   Sums: 2 m + 8 more roundings for m terms and 2 l(u_o); e_a and tiny_ds are at most doubled.
// Errors of terms are summed by their magnitudes, |x_rc| <= column[c] share[r] (Magnitudes):
//   grad_query: scale column_k[c] (sum_j share_j (a_w w_ij + a_b w_ij |a_ij|) + tiny)
//   grad_key:   scale column_q[c] (sum_i share_i (...) + tiny)
//   grad_value: column_g[c] (sum_i share_i c_w w_ij + tiny)
// and the result is stored: u_o (|gradient| + moved) more.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

#include "gqa/audit/gradient_problem.hpp"
#include "gqa/audit/rounding_units.hpp"
#include "gqa/num/ball.hpp"

namespace gqa {

/// What the worst case of one row depends on, and rises with.
template <class T>
struct GradientRowSize {
  std::int64_t terms = 0;       ///< n: visible keys and the sink
  std::int64_t key_size = 0;    ///< dk
  std::int64_t value_size = 0;  ///< dv
  std::int64_t group_rows = 0;  ///< rows of all query heads of the group
  bool has_bias = false;
  T scale = T(1);
  T softcap = T(0);  ///< 0: off
  T query_norm = T(0);
  T key_norm = T(0);
  T grad_norm = T(0);
  T value_norm = T(0);
  T lse = T(0);
  std::optional<T> sink = {};  ///< its logit
};

/// Coefficients of w and of w |a| in the sums above.
template <class T>
struct GradientRowWorst {
  /// False: the bound would allow anything (a relative change of 1 or more). Nothing is judged
  /// by it then.
  bool is_bounded = false;
  T query_weight = T(0);
  T query_product = T(0);
  T key_weight = T(0);
  T key_product = T(0);
  T value_weight = T(0);
};

/// tiny_w, at most (L_w < 1): absolute error of one weight from underflow and of keys that do not
/// matter.
inline double gradient_tiny_weight(const PrecisionModel& model) {
  return 10 * (model.weight_underflow + 4 * model.inner_underflow + 0x1p-288);
}

namespace gradient_worst_detail {

inline double expm1(double x) {
  return std::expm1(x);
}
inline Ball expm1(const Ball& x) {
  return exp(x) - Ball(1);
}
inline bool certainly_less(double x, double y) {
  return x < y;
}
inline bool certainly_less(const Ball& x, const Ball& y) {
  return less(x, y).certainly();
}
inline double larger(double x, double y) {
  return x > y ? x : y;
}
inline Ball larger(const Ball& x, const Ball& y) {
  return max(x, y);
}
inline double smaller(double x, double y) {
  return x < y ? x : y;
}
inline Ball smaller(const Ball& x, const Ball& y) {
  return min(x, y);
}
/// l(u), at least -ln(1 - u); beyond 1/2 nothing is bounded.
inline double growth(double u) {
  return u < 0.5 ? u / (1 - u) : 1e300;
}

}  // namespace gradient_worst_detail

/// The coefficients of one row with at least one visible key.
template <class T>
GradientRowWorst<T> gradient_row_worst(const PrecisionModel& model, const GradientProblem& gradient,
                                       const GradientRowSize<T>& row) {
  using namespace gradient_worst_detail;
  using std::abs;
  using std::exp;
  using std::log;
  using std::sqrt;
  const auto count = [](std::int64_t n) { return static_cast<double>(n); };
  const double n = count(row.terms);
  const double ti = model.inner_underflow;
  const double tp = model.weight_underflow;
  const double ls = growth(model.score);
  const double lq = growth(model.stored_score);
  const double le = growth(model.exponential);
  const double la = growth(model.accumulation);
  const double lp = growth(model.weight);
  const double lo = growth(gradient.storage_roundoff);
  const T zero(0);
  const T one(1);
  // Scores.
  const T product = row.scale * row.query_norm * row.key_norm;
  const bool plain = !row.has_bias && !certainly_less(zero, row.softcap);
  const double score_growth = (count(row.key_size) + 6) * ls + 2 * lq;
  const T root = sqrt(T(count(row.key_size)));
  const T tiny_product =
      T(ti) * larger(one, row.scale) * (root * (root + row.query_norm + row.key_norm) + T(2));
  const T lse = abs(row.lse);
  T distance = row.has_bias ? T(200) : smaller(T(200), lse + product);
  T magnitude = row.has_bias ? T(lse + distance) : product;
  if (row.sink) {
    distance = larger(distance, smaller(T(200), abs(T(row.lse - *row.sink))));
    magnitude = larger(magnitude, smaller(T(lse + T(200)), abs(*row.sink)));
  }
  T score_error = expm1(T(score_growth)) * product + exp(T(score_growth)) * tiny_product;
  const T raw_error = score_error;
  if (!plain) {
    const double further = 6 * le + 2 * lq;
    score_error =
        exp(T(further)) * score_error + expm1(T(further)) * (magnitude + product) + T(6 * ti);
  }
  // Weights.
  const double terms = std::log(n + 1) + 1;
  const T exponent = score_error + T(4 * model.exponential) *
                                       (distance + T(3) * score_error + magnitude + T(terms));
  const double sums = (n + 4) * growth(4 * model.exponential) +
                      (2 * n + 6) * growth(model.denominator) + 2 * lp + 2 * lq +
                      growth(2 * n * (4 * ti + tp));
  const T weight_log = T(2) * exponent +
                       T(8 * model.exponential) * (distance + lse + magnitude + T(terms)) + T(sums);
  GradientRowWorst<T> worst;
  if (!certainly_less(weight_log, T(1))) return worst;
  // Differences a.
  const double dv = count(row.value_size);
  const double us = larger(ls, la);
  const T gv = row.grad_norm * row.value_norm;
  const T root_dv = sqrt(T(dv)) * row.grad_norm;
  const T product_error = expm1(T((dv + 2) * us + 2 * lq));
  const T delta_error = expm1(weight_log + T(lp + (2 * n + dv + 8) * la + 2 * lq + 2 * lo));
  const T tiny_difference = T(2 * n * gradient_tiny_weight(model)) * gv +
                            T(4 * (n + dv + 8) * ti) * (one + root_dv) +
                            T(2 * gradient.storage_underflow) * root_dv + T(2 * tp);
  const T difference_error = (product_error + delta_error) * gv + T(2) * tiny_difference;
  // ds.
  const T slope =
      certainly_less(zero, row.softcap) ? T(T(2) * raw_error / row.softcap + T(10 * le)) : zero;
  const T score_log = weight_log + T(2 * lp + 2 * lq + 6 * la + 6 * ls);
  const auto product_coefficient = [&](double additions) {
    return T((one + expm1(score_log + T((2 * additions + 8) * la + 2 * lo))) * (one + slope) - one);
  };
  worst.query_product = product_coefficient(n);
  worst.key_product = product_coefficient(count(row.group_rows));
  worst.query_weight = (one + worst.query_product) * difference_error;
  worst.key_weight = (one + worst.key_product) * difference_error;
  worst.value_weight = expm1(weight_log + T(lp + (2 * count(row.group_rows) + 8) * la + 2 * lo));
  worst.is_bounded = certainly_less(worst.query_product, one) &&
                     certainly_less(worst.key_product, one) &&
                     certainly_less(worst.value_weight, one);
  return worst;
}

/// The worst error of a recorded gradient whose terms were moved by `moved`: it is stored.
template <class T>
T recorded_worst(const T& moved, const T& magnitude, double roundoff, double underflow) {
  return moved + gradient_worst_detail::larger(T(T(roundoff) * (magnitude + moved)), T(underflow));
}

}  // namespace gqa
