// Norms and maxima of decoded rows, and row-wise sums: the memory-bound part of the filter.
//
// Rows have a stride that is a multiple of vector_padding and are zero beyond their width.
#pragma once

#include <cstddef>
#include <limits>

namespace gqa {

/// The sum of squares of one row, in binary64; not finite if an element is not (or if the
/// sum overflows). Error: that of n roundings and n underflows; see upper_norm.
double square_sum(const double* row, std::size_t n);

/// The largest square_sum of `rows` rows of `n` elements; infinity if one is not finite.
double largest_square_sum(const double* data, std::size_t rows, std::size_t n);

/// The largest square_sum of some rows, and the range of their sums of fourth powers, in one
/// pass. If a row is not finite, largest_square_sum is infinity and the rest is worthless.
struct KeyPowers {
  double largest_square_sum = 0;
  double smallest_fourth_sum = std::numeric_limits<double>::infinity();
  double largest_fourth_sum = 0;
};
KeyPowers powers_of_rows(const double* data, std::size_t rows, std::size_t n);

/// The sum of fourth powers of one row.
double fourth_power_sum(const double* row, std::size_t n);

/// maxima[c] <- max over rows of |data[r][c]|; NaN counts as larger than infinity.
void column_maxima(double* maxima, const double* data, std::size_t rows, std::size_t n);
/// maxima[c] <- max(maxima[c], more[c]) and true, or nothing and false if one of `more` is
/// not finite.
bool raise_if_finite(double* maxima, const double* more, std::size_t n);

/// sums <- sums * factor + more, elementwise: two roundings each, one if factor is 1.
void rescale_and_add(double* sums, const double* more, double factor, std::size_t n);
/// The same with a binary32 summand times `scale` (a power of two).
void rescale_and_add(double* sums, const float* more, double scale, double factor, std::size_t n);

/// squares <- (values * scale)^2, rounded to binary32.
void squares_as_single(float* squares, const double* values, double scale, std::size_t n);

}  // namespace gqa
