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
//   - has the weights of a row once for all columns of the output;
//   - stores what each query head adds to a shared key or value at most once in the recorded
//     format before the group is summed, in that format or a finer one, and grad_query once more.
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
//   g.v_j: dv + 2 roundings of its terms, stored twice at most, the stores relative to itself:
//   |error| <= c_s |g| |v_j| + c_q |g.v_j|, c_q = e^(2 l(u_q)) - 1, c_s = e^(2 l(u_q)) (e^((dv + 2)
//   max(l(u_s), l(u_a))) - 1).
//   delta: a row's weights are the same for every column, so that their errors reach it through
//   g.v_j. With B = sum w |g.v_j|, N = |g| sum w |v_j|, O = sum |g_c o_c|, L_o = L_w + l(u_p), m =
//   2 n + dv + 8 roundings of sums and products:
//     from the output: (e^L_o - 1) B, and m roundings that each column has for itself, of terms w
//     |g_c v_jc| at most: (e^(L_o + m l(u_a)) - e^L_o) N; the output is stored (twice at most) and
//     multiplied and summed: (e^(2 l(u_o) + m l(u_a)) - 1) (O + (e^(L_o + m l(u_a)) - 1) N);
//     from sum w (g.v): (e^(L_o + 2 l(u_q) + m l(u_a)) - 1) B + e^(L_o + m l(u_a)) c_s N.
//   The larger of the two is D_e.
//   A loss that reads lse: with l = grad_lse the difference is a = g.v - delta + l. l is subtracted
//   from delta once for the row, (e^(2 l(u_s) + 2 l(u_q)) - 1) (B + D_e + |l|) more in D_e, or w l
//   is added with the same w, each product rounded for itself: |a| below is |g.v - delta| + |l|. So
//   the difference a = g.v - delta is off by e_j = c_s |g| |v_j| + c_q |g.v_j| + D_e + tiny_a. ds:
//   |ds^ - ds| <= (1 + c) e_j w + c w |a| + tiny_ds, c = e^(L_w + 2 l(u_p) + 2 l(u_q) + 6 l(u_a) +
//   6 l(u_s)) (1 + slope) - 1, slope = 2 D / cap + 10 l(u_e) the absolute error of softcap's
//   derivative 1 - tanh^2, which is at most 1 and 2-Lipschitz in tanh. Sums: 2 m + 8 more roundings
//   for m terms, and stores: 2 l(u_o), or one for each head of the group and one more; tiny_a and
//   tiny_ds are at most doubled.
// Errors of terms are summed by their magnitudes:
//   grad_query: scale (sum_j |k_jc| (...) + tiny)
//   grad_key:   scale (sum_i |q_ic| (...) + tiny)
//   grad_value: sum_i |g_ic| c_w w_ij + tiny
// and the result is stored: u_o (|gradient| + moved) more.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

#include "gqa/audit/gradients/gradient_problem.hpp"
#include "gqa/audit/models/rounding_units.hpp"
#include "gqa/num/ball.hpp"
#include "gqa/num/roundoff.hpp"

namespace gqa {

/// What the worst case of one row depends on, and rises with.
template <class T>
struct GradientRowSize {
  std::int64_t terms = 0;       ///< n: visible keys and the sink
  std::int64_t key_size = 0;    ///< dk
  std::int64_t value_size = 0;  ///< dv
  std::int64_t group_rows = 0;  ///< rows of all query heads of the group
  std::int64_t group_heads = 1;
  bool has_bias = false;
  T scale = T(1);
  T softcap = T(0);  ///< 0: off
  T query_norm = T(0);
  T key_norm = T(0);
  T grad_norm = T(0);
  T value_norm = T(0);
  T lse = T(0);
  std::optional<T> sink = {};  ///< its logit
  bool has_grad_lse = false;
};

/// What one row's weights add to the sums above.
template <class T>
struct GradientRowWorst {
  /// False: the bound would allow anything (a relative change of 1 or more). Nothing is judged
  /// by it then.
  bool is_bounded = false;
  T query_product = T(0);  ///< c
  T key_product = T(0);
  T value_weight = T(0);  ///< c_w
  T norm_error = T(0);    ///< c_s
  T stored_error = T(0);  ///< c_q
  T difference = T(0);    ///< D_e and tiny_a, after finish()

  // Of B, N and O, by both ways to delta.
  T output_products = T(0), output_norms = T(0), output_magnitudes = T(0);
  T sum_products = T(0), sum_norms = T(0);
  T tiny = T(0);
  bool has_grad_lse = false;
  T subtraction = T(0);  ///< of grad_lse from delta

  /// B, N and O.
  void finish(const T& products, const T& norms, const T& magnitudes, const T& grad_lse) {
    using std::abs;
    using std::max;
    difference =
        max(T(output_products * products + output_norms * norms + output_magnitudes * magnitudes),
            T(sum_products * products + sum_norms * norms)) +
        tiny;
    if (has_grad_lse) difference += subtraction * (products + difference + abs(grad_lse));
  }
  /// What a weight w with a = g.v - delta (|a|, with grad_lse |g.v - delta| + |grad_lse|) adds,
  /// `norms` = |g| |v_j|; grad_query's without what is common to the row: query_common times w.
  T query_term(const T& w, const T& a, const T& product, double norms) const {
    return term(query_product, w, a, product, norms, T(0));
  }
  T query_common() const { return (T(1) + query_product) * difference; }
  T key_term(const T& w, const T& a, const T& product, double norms) const {
    return term(key_product, w, a, product, norms, difference);
  }

 private:
  T term(const T& c, const T& w, const T& a, const T& product, double norms,
         const T& common) const {
    using std::abs;
    const T error = norm_error * T(norms) + stored_error * abs(product) + common;
    return w * ((T(1) + c) * error + c * abs(a));
  }
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
  const double ls = roundoff_logarithm(model.score);
  const double lq = roundoff_logarithm(model.stored_score);
  const double le = roundoff_logarithm(model.exponential);
  const double la = roundoff_logarithm(model.accumulation);
  const double lp = roundoff_logarithm(model.weight);
  const double lo = roundoff_logarithm(gradient.storage_roundoff);
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
  const double sums = (n + 4) * roundoff_logarithm(4 * model.exponential) +
                      (2 * n + 6) * roundoff_logarithm(model.denominator) + 2 * lp + 2 * lq +
                      roundoff_logarithm(2 * n * (4 * ti + tp));
  const T weight_log = T(2) * exponent +
                       T(8 * model.exponential) * (distance + lse + magnitude + T(terms)) + T(sums);
  GradientRowWorst<T> worst;
  if (!certainly_less(weight_log, T(1))) return worst;
  // Differences a.
  const double dv = count(row.value_size);
  const double us = larger(ls, la);
  worst.stored_error = expm1(T(2 * lq));
  worst.norm_error = (one + worst.stored_error) * expm1(T((dv + 2) * us));
  const double column = (2 * n + dv + 8) * la;
  const T output_log = weight_log + T(lp);
  const T column_error = expm1(output_log + T(column));
  worst.output_products = expm1(output_log);
  worst.output_magnitudes = expm1(T(2 * lo + column));
  worst.output_norms = exp(output_log) * expm1(T(column)) + worst.output_magnitudes * column_error;
  worst.sum_products = expm1(output_log + T(2 * lq + column));
  worst.sum_norms = (one + column_error) * worst.norm_error;
  const T gv = row.grad_norm * row.value_norm;
  const T root_dv = sqrt(T(dv)) * row.grad_norm;
  worst.tiny = T(2) * (T(2 * n * gradient_tiny_weight(model)) * gv +
                       T(4 * (n + dv + 8) * ti) * (one + root_dv) +
                       T(2 * gradient.storage_underflow) * root_dv + T(2 * tp));
  worst.has_grad_lse = row.has_grad_lse;
  worst.subtraction = expm1(T(2 * us + 2 * lq));
  // ds.
  const T slope =
      certainly_less(zero, row.softcap) ? T(T(2) * raw_error / row.softcap + T(10 * le)) : zero;
  const T score_log = weight_log + T(2 * lp + 2 * lq + 6 * la + 6 * ls);
  const double rows = count(row.group_rows);
  const double stores = (count(row.group_heads) + 1) * lo;
  const auto product_coefficient = [&](double additions, double stored) {
    return T((one + expm1(score_log + T((2 * additions + 8) * la + stored))) * (one + slope) - one);
  };
  worst.query_product = product_coefficient(n, 2 * lo);
  worst.key_product = product_coefficient(rows, stores);
  worst.value_weight = expm1(weight_log + T(lp + (2 * rows + 8) * la + stores));
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
