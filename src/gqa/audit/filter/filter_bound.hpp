// The a-priori error bound of one row of the filter.
//
// docs/theory.md, "Rung 1: the filter", extended by softcap, bias, sinks and keys that come in
// blocks under a running shift. u = 2^-53, gamma(n) = n u / (1 - n u): the error of n roundings on
// the way of one term, relative to it (Higham, Accuracy and Stability of Numerical Algorithms, 2nd
// ed., lemma 3.1 and section 3.1, for any order of summation, fused or not).
//
// Scores. The query is scaled first: q~_t = q_t scale (1 + d), |d| <= scale_error + u. With
// Q >= |q~|_2 and K >= |k_j|_2 over the keys that the row may see, by Cauchy-Schwarz
//   |fl(q~.k_j) - scale q.k_j| <= (gamma(dk) + scale_error + u) Q K + underflow.
// Underflow is at most 2 dk 2^-1074 (1 + K) in all, and covered: norms are computed with a
// floor (upper_norm), and 2^-1000 is added.
// Softcap c: x -> c tanh(x / c) is 1-Lipschitz, so the error above passes unchanged; the
// division, tanh and the product add (1 + tanh_relative_units + 1) u |s|, and a rounded c
// adds softcap_error |s|, because |d/dc| = |tanh y - y / cosh^2 y| <= |tanh y|.
// Bias: b = fma(-slope, |p - j|, mask_bias) is rounded once, the sum once more: u (|b| + |s|),
// where |b| <= |s| + |score before|, s the biased score.
// So |computed s_j - s_j| <= D0 + 2u |s_j| [bias only], D0 the same for all keys of the row.
//
// Weights. Keys come in blocks; a row holds a shift m and sums that are relative to exp(m).
// x_j = fl(s_j - m) adds u |x_j| to the exponent, exp adds k u (relative). When a block's
// largest score exceeds m + lift_limit, m becomes that score and the sums are multiplied by
// exp(fl(m_old - m)): u |m - m_old| in the exponent, k u, and one more rounding. With `travel`
// the sum of all such steps and |x_j| <= |s_j - m| + travel, the weight of key j is
//   exp(s_j - m) exp(theta_j) (1 + k u)^(1 + rescales),
//   theta_j <= D0 + 2u [bias] (|m| + |s_j - m|) + u |s_j - m| + 2 u travel.
// |s_j - m| is not bounded, but its mean is: for true weights w_j and M = max s_j,
//   M - s_j <= -ln w_j, so sum w_j (M - s_j) <= entropy(w) <= ln n,
// and |s_j - m| <= (M - s_j) + lift + 1, lift = max(M^ - m, 0) with M^ the largest computed
// score (the 1 more than covers computed against true). The relative error of all weights
// together, sum |w^_j - w_j| / sum w_j, is thus at most
//   rho = (theta + k u (1 + rescales)) (1 + 2 theta_max),
// with theta the mean of theta_j and theta_max <= 1/4 their maximum over keys that matter.
// Keys do not matter if s_j - m < -negligible_below = -1500 as computed: provided D0 and
// u |m| are at most 1/4, they lie below -1490 in truth, so that the weight is below 2^-2000,
// and the computed one is zero. A step of m by more than 1500 makes all keys so far such
// keys: their sums are dropped and travel does not grow. Computed weights below the normal
// range are wrong by 2^-1021 each, and sums times a factor below it by 2^-1021 n exp(lift
// + 1): together at most n 2^-900, relative to a denominator that is at least 1/2, since m
// was the (computed) score of a visible key or the sink.
//
// Sums. Within a block a term goes through at most `block` additions that round (adding an
// invisible key's zero does not: block is at most n), then through one
// addition per block and one product per rescale; fl(w v) is one more. With
//   eps = rho + gamma(block + blocks + rescales + 2) (1 + rho) + n 2^-900,
// denominator L and numerators N_c (|N_c| <= A_c L) have errors of at most eps L and
// eps L A_c. The quotient: |o^ - o| <= 2 eps A_c / (1 - eps) + u |o^| + underflow, with
// underflow at most (n + blocks + rescales + 1) 2^-1074 / L and half of 2^-1074 more.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gqa/attention/attention_problem.hpp"

namespace gqa {

/// m is raised when a score exceeds it by more than this.
inline constexpr double lift_limit = 32;
/// Keys whose score lies further below the shift have no weight.
inline constexpr double negligible_below = 1500;

/// The constants of a problem that the score bound needs.
struct ScoreConstants {
  double scale = 1;
  double scale_error = 0;    ///< |scale - exact| / scale; infinite if the double is unfit
  double softcap = 0;        ///< 0: off
  double softcap_error = 0;  ///< relative, as above
  bool has_bias = false;
  std::int64_t key_size = 0;  ///< dk

  explicit ScoreConstants(const AttentionProblem& problem);
};

/// What happened to one row.
struct RowHistory {
  double query_norm = 0;  ///< Q
  double key_norm = 0;    ///< K
  double shift = 0;       ///< m
  double lift = 0;        ///< max(largest computed score - m, 0)
  double travel = 0;
  double denominator = 0;   ///< computed L
  std::int64_t terms = 0;   ///< n: visible keys, and the sink
  std::int64_t block = 0;   ///< visible keys of one block, at most
  std::int64_t blocks = 0;  ///< and merges
  std::int64_t rescales = 0;
};

struct RowBound {
  bool usable = false;  ///< false: hand the row on
  double epsilon = 0;   ///< eps
  double relative = 0;  ///< 2 eps / (1 - eps)
  double underflow = 0;
  double score_radius = 0;  ///< D0 and the bias term at the shift
};

/// An upper bound of the norm whose square was computed as `square_sum` from n elements, at
/// least sqrt(n) 2^-537.
double upper_norm(double square_sum, std::int64_t n);

/// The bound above. Anything not finite, eps >= 1/2 or theta_max > 1/4 makes it unusable.
RowBound bound_row(const ScoreConstants& constants, const RowHistory& row);

/// |ln computed L + m - exact| for a row with that eps: ln(1 / (1 - eps)) <= eps / (1 - eps),
/// a logarithm within 2 ulp (glibc documents 1), and one sum.
double lse_radius(double epsilon, double lse, double denominator);

/// The errors of sum w^2 v^2 from binary32 squares, for rows with epsilon <= 1e-7: w^2, v^2,
/// the products and sums over a block of `keys` are rounded keys + 3 times with 2^-24, and
/// 1e-6 covers the weights themselves and all binary64 operations.
double squares_relative_error(std::int64_t block);
/// In units of the largest |v|^2: v^2 / 4^e <= 1 and w^2 (relative to L^2 >= 1/4) lose at
/// most 2^-150 each to underflow, so do products, and 4^e <= 4 max |v|^2.
double squares_absolute_error(std::int64_t keys);

}  // namespace gqa
