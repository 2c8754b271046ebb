// Row-wise arithmetic of rung 1 of the gradients: derivatives of scores, and weighted sums.
#pragma once

#include <cstddef>

namespace gqa {

/// What one row multiplies its weights w and products b = w |a| with, for the sums of every key.
struct GradientRowFactors {
  double key_weight = 0;    ///< of w in the radius of grad_key
  double key_product = 0;   ///< of b
  double value_weight = 0;  ///< of w in the radius of grad_value
};

/// Sums of a block of keys, one number each.
struct GradientKeySums {
  double* key = nullptr;
  double* value = nullptr;
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

/// Of one row: what w^2 and t^2 (t the derivative times `scale`) add to variances of elements of
/// grad_query, grad_key and grad_value, and what a rounding adds to them at least: max(roundoff2
/// t^2, tiny2) and the same of w^2 where the weight is not zero.
struct GradientVarianceFactors {
  double scale = 1;
  float query_derivative = 0, query_weight = 0;
  float key_derivative = 0, key_weight = 0;
  float value_weight = 0;
  float roundoff2 = 0, weight_roundoff2 = 0;
  float tiny2 = 0, weight_tiny2 = 0;
};
/// The weights and the three factors of each pair in binary32; all but the weights are at most what
/// they stand for, within 2^-20.
struct GradientVariances {
  float* weights = nullptr;
  float* query = nullptr;
  float* key = nullptr;
  float* value = nullptr;
};
void variance_factors(const double* weights, const double* derivatives, std::size_t n,
                      const GradientVarianceFactors& factors, const GradientVariances& to);

/// slope <- 1 - (capped / cap)^2, elementwise.
void softcap_slopes(double* slope, const double* capped, double cap, std::size_t n);

}  // namespace gqa
