// How far independent roundings are likely to move a gradient: variances, row by row.
//
// Derived to first order. Notation: g grad_output, p weights, dP_ij = g_i.v_j, delta_i = g_i.o_i,
// d_ij = dP_ij - delta_i, t_ij = p_ij d_ij slope_ij the derivative of a score (slope is 1 without
// softcap), u_s, u_q, u_e, u_l, u_p, u_a, u_o the unit roundoffs of PrecisionModel. A rounding to
// nearest of x is an error of standard deviation at most u |x| / sqrt(3), uniform over its range; a
// sum of n terms x in any order has n/6 sum x^2 + n/9 (sum x)^2 times u^2 at most (a running sum of
// like terms has n/9 of the square of the result, one of terms that cancel a random walk with n/2
// of their squares, a third of which is the variance).
//
// A score errs by sf^2 (products, scaling, exp: score_variance without storing) and, where scores
// are stored between the steps, by sq^2 = m u_q^2/3 s^2. The first is a relative error of p_ij; it
// is not independent of the row's other weights, because the log-sum-exp or the sum of the weights
// carries the mean of all:
//   rho_i^2 = sum_j c_j p^2 sf^2 + u_l^2 n c/9 + u_e^2/3 lse^2,
// c_j the number of keys equal to key j (their scores round alike), c the largest of a row.
// delta errs by eta, common to a row, so that in grad_query it multiplies kb = sum_j p k_j:
//   output kept (delta = g.o; o rounded to the stored output, each p of P V rounded once):
//     eta^2 = sum_c g^2 max(u_o |o|, t_o)^2/3 + sum_j rp^2 dP^2 + sum_j c_j p^2 sf^2 d^2
//             + u_l^2 n c/9 delta^2 + u_a^2 (n/6 sum_j p^2 |g|_4^2 |v_j|_4^2 + n/9 sum_c g^2 o^2)
//             + u_s^2 (dv/6 sum_c g^2 o^2 + dv/9 delta^2)
//   scores stored (delta = sum_j P dP of what is stored):
//     eta^2 = sum_j b rp^2 dP^2 + sum_j c_j p^2 sf^2 d^2 + u_a^2 (n/6 sum_j p^2 dP^2 + n/9 delta^2)
//   The errors of p reach delta through every column at once: sum_j dp_j dP_j, not column by
//   column.
// A loss may read lse as well: with l = grad_lse the derivative is t = p (dP - delta + l) slope,
// and d above stands for dP - delta + l in t, for dP - delta in what moves delta (eta, A1, A2, D).
// The class: l is subtracted from delta once for the row, or p l is added with the same p; either
// rounds what it adds before the sum: u_s^2 (delta^2 + l^2) in eta^2, u_p^2/3 p^2 ((dP - delta)^2 +
// l^2) in t's own variance. Rounding p and t: rp^2 = max(u_p p, t_p)^2/3, rS^2 = max(u_p |t|,
// t_p)^2/3 (twice where scores are stored: before and after the scale), t_p what underflow loses.
// dP errs by
//   vdP = u_s^2 (dv/6 |g|_4^2 |v_j|_4^2 + dv/9 dP^2), stored by vst = max(u_q |dP|, t_p)^2/3.
//   grad_value: sum_i g^2 [c_i p^2 (sf^2 + rho^2) + rp^2 + u_a^2 n/6 p^2] + u_a^2 n/9 dV^2
//   grad_query: scale^2 [sum_j k^2 (c_j (p^2 sf^2 d^2 + p^2 vdP + rS^2 + u_s^2 t^2) + u_a^2 n/6
//   t^2)
//               + eta^2 kb^2] + (u_a^2 n/9 + rho^2 + u_s^2) dQ^2
//   grad_key:   scale^2 sum_i q^2 [c_i (p^2 (sf^2 d^2 + eta^2) + rho^2 t^2 + p^2 vdP + rS^2
//               + u_s^2 t^2) + u_a^2 n/6 t^2] + (u_a^2 n/9 + u_s^2) dK^2
// c_i: query rows equal to row i. Equal keys with equal values, or with a grad_lse beside which dP
// - delta is small, have equal derivatives, whose roundings are equal, too: c_j counts for all.
// What is stored between the steps is taken through softmax exactly, since it dominates: with W =
// p^2 sq^2 and e_j the errors of stored dP (whose mean delta takes off),
//   grad_query: + sum_j c_j W (d (k - kb) - dQ/scale)^2 + sum_j p^2 vst (k - kb)^2 + sum_j b rp^2
//   d^2 k^2, grad_key: + q^2 [c_i (W d^2 (1 - 4p) + p^2 (d^2 A0 + 2 d A1 + A2)) + p^2 (vst (1 - 2p)
//   + sum p^2 vst) + rp^2 d^2], Am = sum_j c_j W d^m; grad_value: + g^2 c_i (W (1 - 2p) + p^2 sum
//   W).
// b: keys with the same stored score share the rounding of their weight. A score's grid has spacing
// 2 u_q |s|; scores of deviation sd, about Gaussian, put 1 + n u_q max|s| / (sqrt(pi) sd) keys on
// one point in the mean, weighted with themselves.
//
// lambda sqrt(variance) holds for what averages out. What does not is added as it is:
//   - below the spacing of subnormals everything is lost with one sign: sum |k| lost(t) and so on;
//   - a running sum loses weights below u_a of its value: l_j = min(p, u_a) for p < 4 u_a, r = sum
//     l_j, D = sum l_j |d|: scale D |kb| + r |dQ|; scale sum |q| (p D + r |t|); sum |g| p r;
//   - equal numbers round equally: where many rows agree (no information in the scores, or one that
//     saturates), the roundings of p and o add up. They are replayed, R(y) = rounded(y) - y:
//     |sum_i g R(p)|, and with y = sum_c g R(o), sum_j R(e^x) dP / sum e^x, or sum_j R(p) dP where
//     scores are stored, scale |y kb| and scale |sum_i q p y|; there |scale sum R(p) d k| (q), too.
//     Near a tie a kernel's own errors decide which way: there R's magnitude counts, not its sign.
// Thresholds are ramps (lost, R near a tie), so that every bound is continuous in what it is made
// of: a last bit of a weight cannot decide a verdict.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "gqa/audit/models/likely_bound.hpp"
#include "gqa/num/arithmetic.hpp"
#include "gqa/num/ball.hpp"

namespace gqa {

/// What is the same for all elements of a history. Rows are those of the group.
struct GradientRoundings {
  /// `storage_roundoff`, `storage_underflow`: of the output as the backward pass reads it.
  GradientRoundings(const PrecisionModel& model, std::int64_t key_size, std::int64_t value_size,
                    double softcap, bool has_bias, double scale, double storage_roundoff,
                    double storage_underflow);

  PrecisionModel model;
  PrecisionModel unstored;  ///< the same without stored scores
  bool stored;              ///< scores, products g.v and derivatives are stored between the steps
  bool replays_weights;     ///< equal roundings of weights are coarse enough to matter
  bool replays_output;      ///< those of the stored output, where delta is made of it
  bool plain;               ///< neither softcap nor bias
  double key_size, value_size;
  double softcap;  ///< 0: off
  double scale;
  double output_roundoff, output_underflow;
};

/// The value itself up to `limit`, that up to `edge`, and nothing from 17/16 edge on; a ramp
/// between. What a grid or a running sum loses of a number that is not negative.
template <class T>
T lost_below(const T& magnitude, double limit, double edge) {
  using std::max;
  using std::min;
  const T ramp = T(16 * limit) * (T(edge * 17 / 16) - magnitude) / T(edge);
  return max(T(0), min(min(magnitude, T(limit)), ramp));
}

/// What rounding y to the grid of unit roundoff u with subnormals of spacing 2 tiny does.
template <class T>
struct Replay {
  T moved = T(0);      ///< rounded(y) - y, with a ramp through zero in the last 2^-10 before a tie
  T undecided = T(0);  ///< what |rounded(y) - y| is above |moved|: a kernel may go either way
};
Replay<double> replayed_rounding(double y, double u, double tiny);
Replay<Ball> replayed_rounding(const Ball& y, double u, double tiny);

/// Sums over the columns of one row of the output.
template <class T>
struct GradientOutputSums {
  T squares = T(0);     ///< sum g^2 o^2
  T stored = T(0);      ///< sum g^2 max(u_o |o|, t_o)^2 / 3
  T magnitudes = T(0);  ///< sum |g o|
  T replay = T(0);      ///< sum g R(o)

  void add(const GradientRoundings& roundings, const T& grad, const T& output) {
    using std::abs;
    using std::max;
    const T product = grad * output;
    squares += square(product);
    stored += square(T(grad * max(T(T(roundings.output_roundoff) * abs(output)),
                                  T(roundings.output_underflow)))) /
              T(3);
    magnitudes += abs(product);
    if (roundings.replays_output) {
      replay +=
          grad *
          replayed_rounding(output, roundings.output_roundoff, roundings.output_underflow).moved;
    }
  }
};

/// One weight of a row.
template <class T>
struct GradientPair {
  T weight = T(0);
  T raw = T(0);       ///< scale q.k
  T score = T(0);     ///< after softcap and bias
  T capped = T(0);    ///< after softcap alone
  T product = T(0);   ///< dP
  double key4 = 0;    ///< |k_j|_4^2
  double value4 = 0;  ///< |v_j|_4^2
  double copies = 1;  ///< keys equal to this one
};

/// What the pairs of one row have in common.
template <class T>
struct GradientRowGiven {
  T lse = T(0);
  T delta = T(0);
  T grad_lse = T(0);
  bool has_grad_lse = false;
  T maximum = T(0);    ///< largest score
  T query4 = T(0);     ///< scale^2 |q|_4^2
  double grad4 = 0;    ///< |g|_4^2
  double copies = 1;   ///< query rows equal to this one
  double visible = 0;  ///< n: keys, and the sink
  GradientOutputSums<T> output;
};

/// The errors of one pair.
template <class T>
struct GradientPairErrors {
  T p, p2, t;
  T d;            ///< dP - delta + grad_lse
  T own;          ///< dP - delta
  T magnitude;    ///< |own| + |grad_lse|
  T sensitivity;  ///< of t to the score's error, over p d: slope and what softcap's derivative adds
  T slope;
  T score;           ///< sf^2
  T stored_score;    ///< sq^2
  T weight;          ///< rp^2
  T alike;           ///< 0 to 1: equal scores' weights round alike, and no replay says how
  T shared;          ///< c - 1 keys that are equal, so far as their weights round alike
  T product;         ///< vdP
  T stored_product;  ///< vst
  T derivative;      ///< rS^2 and what the slope's roundings add
  T lost_weight, lost_derivative, drift;

  /// The same of equal query rows.
  T shared_rows(double copies) const { return T(copies - 1) * alike; }
};

template <class T>
GradientPairErrors<T> gradient_pair_errors(const GradientRoundings& r,
                                           const GradientRowGiven<T>& row,
                                           const GradientPair<T>& pair) {
  using std::abs;
  using std::max;
  using std::min;
  const PrecisionModel& m = r.model;
  GradientPairErrors<T> e;
  e.p = pair.weight;
  e.p2 = square(e.p);
  e.own = pair.product - row.delta;
  e.d = row.has_grad_lse ? T(e.own + row.grad_lse) : e.own;
  e.magnitude = row.has_grad_lse ? T(abs(e.own) + abs(row.grad_lse)) : T(abs(e.own));
  e.slope = e.sensitivity = T(1);
  T slope_error(0);
  if (r.softcap > 0) {
    const T ratio = pair.capped / T(r.softcap);
    e.slope = T(1) - square(ratio);
    e.sensitivity = e.slope + T(2 / r.softcap) * abs(ratio);
    slope_error = T(square(4 * m.exponential) / 3) * e.p2 * square(e.d);
  }
  e.t = e.p * e.d * e.slope;
  const T score2 = square(pair.score);
  const T raw2 = square(pair.raw);
  e.score = score_variance(r.unstored, static_cast<std::int64_t>(r.key_size), r.plain,
                           ScoreSquares<T>{row.query4 * T(pair.key4), raw2, score2,
                                           square(T(pair.score - row.maximum))});
  e.weight = square(max(T(T(m.weight) * e.p), T(m.weight_underflow))) / T(3);
  const T t = abs(e.t);
  e.derivative = square(max(T(T(m.weight) * t), T(m.weight_underflow))) / T(3) + slope_error;
  if (row.has_grad_lse) {
    e.derivative +=
        T(square(m.weight) / 3) * e.p2 * square(e.slope) * (square(e.own) + square(row.grad_lse));
  }
  e.product = T(square(m.score) * r.value_size) *
                  (T(row.grad4 * pair.value4 / 6) + square(pair.product) / T(9)) +
              T(r.value_size * square(m.inner_underflow) / 3);
  e.alike = e.shared = e.stored_score = e.stored_product = T(0);
  double lost = m.weight_underflow;
  if (r.stored) {
    // Stored, scaled and stored again; softcap and bias store twice more.
    const double uq2 = square(m.stored_score) / 3;
    e.stored_score = r.plain ? T(T(2 * uq2) * score2) : T(T(2 * uq2) * (score2 + raw2));
    e.stored_product =
        square(max(T(T(m.stored_score) * abs(pair.product)), T(m.weight_underflow))) / T(3);
    const double scaled = m.weight_underflow / r.scale;
    lost += scaled;
    e.derivative += square(max(T(T(m.weight) * t), T(scaled))) / T(3);
    // Equal keys' scores round alike, so do their weights, unless the replay says how.
    // A score's rounding that is small against a weight's leaves the replay as it is.
    e.alike = min(T(1), square(T(T(16 * m.stored_score / m.weight) * abs(pair.score))));
    e.shared = T(pair.copies - 1) * e.alike;
  }
  e.lost_weight = lost_below(e.p, m.weight_underflow, 2 * m.weight_underflow);
  e.lost_derivative = lost_below(t, lost, 2 * lost);
  e.drift = lost_below(e.p, m.accumulation, 4 * m.accumulation);
  return e;
}

/// The sums over one row's weights that its elements, and those of the keys that it sees, need.
template <class T>
struct GradientLikelyRow {
  GradientRowGiven<T> given;
  T rho2 = T(0);
  T eta2 = T(0);
  T shared_bins = T(1);    ///< b
  T drift = T(0);          ///< r
  T drift_product = T(0);  ///< D
  T replay_output = T(0);
  T replay_weights = T(0);
  T stored0 = T(0), stored1 = T(0), stored2 = T(0);  ///< A0, A1, A2
  T stored_score = T(0);                             ///< sum c p^2 sq^2
  T stored_products = T(0);                          ///< sum p^2 vst
  // For the worst case.
  T magnitudes = T(0);   ///< sum w |dP|
  T value_norms = T(0);  ///< sum w |v_j|

  void start(const GradientRoundings& roundings, const GradientRowGiven<T>& row);
  void add(const GradientRoundings& roundings, const GradientPair<T>& pair,
           const GradientPairErrors<T>& errors, double value_norm);
  void add_sink(const GradientRoundings& roundings, const T& logit);
  void finish(const GradientRoundings& roundings);

 private:
  T weighted_errors_ = T(0);  // sum c p^2 sf^2 d^2
  T rounded_ = T(0);          // sum rp^2 dP^2
  T rounded_shared_ = T(0);   // sum (c - 1) rp^2 dP^2
  T squares_ = T(0);          // sum p^2 |g|_4^2 |v_j|_4^2, or sum p^2 dP^2
  T score_mean_ = T(0), score_square_ = T(0), score_largest_ = T(0);
  double copies_ = 1;  // the largest of the row
};

extern template struct GradientLikelyRow<double>;
extern template struct GradientLikelyRow<Ball>;

}  // namespace gqa
