// Row-wise arithmetic of rung 1 of the gradients: derivatives of scores, and weighted sums.
#pragma once

#include <cstddef>

namespace gqa {

/// What one row multiplies its weights w and products b = w |a| with, for the sums of every key.
struct GradientRowFactors {
  double key_weight = 0;    ///< of w in the radius of grad_key
  double key_product = 0;   ///< of b
  double value_weight = 0;  ///< of w in the radius of grad_value
  double worst_key_weight = 0;
  double worst_key_product = 0;
  double worst_value_weight = 0;
};

/// Sums of a block of keys, one number each; worst_* may be null together.
struct GradientKeySums {
  double* key = nullptr;
  double* value = nullptr;
  double* worst_key = nullptr;
  double* worst_value = nullptr;
};

/// Sums over the keys of one row, weighted with key shares: of w and of b.
struct GradientRowSums {
  double weight = 0;
  double product = 0;
};

/// a <- (a - delta) w slope, elementwise: the derivatives of one row's scores from a = g.v_j.
/// `slope` may be null (1). n is a multiple of vector_padding.
void score_derivatives(double* a, const double* weights, const double* slope, double delta,
                       std::size_t n);

/// The same, with b = |w (a - delta)|: adds to `keys`, returns the row's sums. Every sum is one of
/// terms that are not negative, and each is rounded at most twice more.
GradientRowSums score_derivatives(double* a, const double* weights, const double* slope,
                                  double delta, std::size_t n, const double* shares,
                                  const GradientRowFactors& factors, const GradientKeySums& keys);

/// slope <- 1 - (capped / cap)^2, elementwise.
void softcap_slopes(double* slope, const double* capped, double cap, std::size_t n);

}  // namespace gqa
