// Weighted sums of rational columns on common denominators.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gqa/num/rational.hpp"

namespace gqa {

/// A rational matrix with the denominators of each column cleared once:
/// value(r, c) = numerator(r, c) / denominator(c).
///
/// Sums of many products then cost integer multiplications, and one
/// canonicalisation at the end instead of one for every term.
class ClearedColumns {
 public:
  /// `values` is row-major, rows x columns.
  ClearedColumns(std::span<const Rational> values, std::size_t rows, std::size_t columns);

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  const mpz_class& numerator(std::size_t row, std::size_t column) const {
    return numerators_[row * columns_ + column];
  }
  const mpz_class& denominator(std::size_t column) const { return denominators_[column]; }

 private:
  std::size_t rows_;
  std::size_t columns_;
  std::vector<mpz_class> numerators_;
  std::vector<mpz_class> denominators_;
};

/// The integers n with n[i] : n[j] = weights[i] : weights[j], weights[i] = n[i] / common.
struct ClearedWeights {
  std::vector<mpz_class> numerators;
  mpz_class common;
};
ClearedWeights clear_denominators(std::span<const Rational> weights);

/// (sum_r weights[r] values(r, c)) / (sum_r weights[r] + extra), for every column c,
/// summed over the rows named in `rows` alone. `extra` is a weight without a value.
/// Precondition: the divisor is not zero, weights.size() == values.rows().
std::vector<Rational> weighted_means(const ClearedColumns& values,
                                     std::span<const Rational> weights,
                                     std::span<const std::size_t> rows, const Rational& extra);

}  // namespace gqa
