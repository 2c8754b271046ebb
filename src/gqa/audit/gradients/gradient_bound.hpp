// The a-priori error bound of rung 1 of the gradients.
//
// u = 2^-53 and gamma(n) = n u / (1 - n u) as in filter_bound.hpp, whose row bounds are used: every
// score is within D = score_radius (of keys that matter), lse within lse_radius and the output o_c
// within its radius r_c. ^ marks what is computed; G = |g|_2, V >= |v_j|_2 of all seen keys.
//
// Weights. x_j = fl(s_j^ - lse^) is rounded once, u |x_j|, and exponentiated with k u, k = 4.
// Where x_j^ < -800 the computed weight is zero and the true one below e^-790, so
//   theta = D + lse_radius + 800 u [+ 2 u (900 + ln n) with bias: D holds at the shift of the
//   filter's row, and |s_j| grows from there by |x_j| + ln n + 66 at most],
//   |w^ - w| <= rho w^ + 2^-1020, rho = (theta + 8 u)(1 + 2 theta), provided theta <= 2^-20.
// Differences a_j = g.v_j - delta, delta = g.o - l with l = grad_lse, subtracted last:
//   |delta^ - delta| <= E_delta = sum |g_c| r_c + gamma(dv + 1) sum |g_c o_c^| + 2 u (|(g.o)^| +
//   |l|) (and underflow), |a^ - a| <= e_a + u |a^|, e_a = E_delta + gamma(dv + 1) G V.
// Softcap's derivative 1 - (s/c)^2 of the capped score: the ratio is off by D / c, the error of c
// and u, so the square by twice that: sigma = 2 (D / c + softcap_error) + 8 u. It is at most 1.
// Derivatives t_j = w_j a_j slope_j, with b_j = w_j^ |a_j^|:
//   |t^ - t| <= e_a (1 + rho) w^ + (rho + sigma + 6 u) b + 2^-1018 G V.
// Sums over m terms that go through `depth` additions and one product: gamma(depth + 2) sum |.|.
// Products are bounded by |x_rc| <= column[c] share[r] (Magnitudes) instead of by a product of
// magnitudes, so that a sum over keys is one number for all columns:
//   grad_query_ic: scale column_k[c] sum_j share_j (e_a (1 + rho) w^ + (rho + sigma + 6 u + gamma)
//   b) grad_key_jc:   scale column_q[c] sum_i share_i (the same, with the query's scale_error + 2
//   u) grad_value_jc: column_g[c] sum_i share_i (rho + gamma) w^
// Underflow: fewer than n + rows + dk + dv + 64 products lose at most 2^-1074 each, times an
// operand at most: (...) 2^-1050 (1 + scale)(1 + largest column) covers it, with norms of at most
// 2^300. The sums themselves are of terms that are not negative; a factor 1 + m 2^-51 covers the
// roundings of m of them.
#pragma once

#include <cstdint>

#include "gqa/audit/filter/filter.hpp"
#include "gqa/audit/filter/filter_bound.hpp"
#include "gqa/audit/gradients/gradient_facts.hpp"

namespace gqa {

/// delta^ and E_delta.
struct GradientDelta {
  double of_output = 0;  ///< (g.o)^
  double value = 0;
  double error = 0;
};
/// From a row of grad_output and row `r` of the filter's tile. Both have `columns` elements.
GradientDelta gradient_delta(const FilterTile& tile, std::size_t r, const double* grad,
                             double grad_lse);

/// e_a (1 + rho), rho, and rho + sigma + 6 u; usable: theta is small enough.
struct GradientRowBound {
  bool usable = false;
  double difference = 0;
  double weight = 0;
  double product = 0;
};
GradientRowBound gradient_row_bound(const ScoreConstants& constants, const FilterRow& row,
                                    std::int64_t value_size, double delta_error, double grad_norm,
                                    double value_norm);

/// gamma(depth + 2), rounded up.
double summation_error(std::int64_t depth);

}  // namespace gqa
