// Weighted means of rational columns on common denominators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gqa/num/rational.hpp"

namespace gqa {

/// A rational matrix with the denominators of each column cleared once:
/// value(r, c) = numerator(r, c) / denominator(c).
///
/// Sums of many products then cost integer multiplications, and one canonicalisation at
/// the end instead of one for every term. Where all numbers are small the integers are
/// machine words, without any memory of their own.
class ClearedColumns {
 public:
  /// `values` is row-major, rows x columns.
  ClearedColumns(std::span<const Rational> values, std::size_t rows, std::size_t columns);

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }

  /// means[c] = (sum_r weights[r] value(r, c)) / (sum_r weights[r] + extra) for every
  /// column c, summed over `visible` rows alone. `extra` is a weight without a value.
  /// Precondition: the divisor is positive, weights.size() == rows(), weights >= 0,
  /// means.size() == columns().
  void means(std::span<const Rational> weights, std::span<const std::size_t> visible,
             const Rational& extra, std::span<Rational> means) const;

 private:
  bool clear_small(std::span<const Rational> values);
  void clear_large(std::span<const Rational> values);
  bool small_means(std::span<const Rational> weights, std::span<const std::size_t> visible,
                   const Rational& extra, std::span<Rational> means) const;
  void large_means(std::span<const Rational> weights, std::span<const std::size_t> visible,
                   const Rational& extra, std::span<Rational> means) const;

  std::size_t rows_;
  std::size_t columns_;
  bool is_small_ = false;
  std::vector<std::int64_t> small_numerators_;
  std::vector<std::int64_t> small_denominators_;
  std::vector<mpz_class> numerators_;
  std::vector<mpz_class> denominators_;
};

}  // namespace gqa
