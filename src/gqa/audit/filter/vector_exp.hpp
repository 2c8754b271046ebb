// Exponentials, hyperbolic tangents and maxima of rows of scores, with stated errors.
//
// Vectorised with Highway, which picks the instruction set at run time. Every row is read
// and written in whole groups of `vector_padding` elements, so the buffers must be so
// padded; what lies beyond the row must be minus infinity.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>

namespace gqa {

inline constexpr std::size_t vector_padding = 16;
/// The least whole number of groups that `n` elements fit in, in elements.
constexpr std::size_t padded(std::size_t n) {
  return (n + vector_padding - 1) / vector_padding * vector_padding;
}

/// |computed exp(x) - exp(x)| <= exp_relative_units u exp(x) + 2^-1021, u = 2^-53, for
/// x <= 706; exp of minus infinity is 0. Source: Highway 1.0, hwy/contrib/math/math-inl.h,
/// documents 1 ulp (at most 2u) for [-DBL_MAX, 706]; assumed here is twice that, and
/// tests/audit/filter/vector_exp_test.cpp compares every instruction set with Arb.
inline constexpr double exp_relative_units = 4;
/// |computed tanh(y) - tanh(y)| <= tanh_relative_units u |tanh(y)|. Source: the same,
/// which documents 4 ulp; assumed here is twice that, and tested.
inline constexpr double tanh_relative_units = 16;

/// Power sums of one row of weights, for the precision models. With p = exp(x - shift) and
/// y = x - reference: the sums of p, p y, p y^2 and of p^2, p^2 y, p^2 y^2; and the smallest x
/// above minus infinity.
struct WeightMoments {
  double first[3] = {0, 0, 0};
  double second[3] = {0, 0, 0};
  double minimum = std::numeric_limits<double>::infinity();

  WeightMoments& operator+=(const WeightMoments& other) {
    for (int i = 0; i < 3; ++i) {
      first[i] += other.first[i];
      second[i] += other.second[i];
    }
    minimum = std::min(minimum, other.minimum);
    return *this;
  }
};

/// The largest of x[0..n); minus infinity if all are. Precondition: n is a multiple of
/// vector_padding, also below. NaN among them: unspecified.
double row_maximum(const double* x, std::size_t n);

/// x <- exp(x - shift); returns their sum, each term of which went through at most n
/// additions. NaN gives 0.
double exp_row(double* x, std::size_t n, double shift);

/// exp_row, and p^2 as binary32, and the moments about `reference`. moments.first[0] is
/// the sum that exp_row returns. The moments are for statistics: no bound is stated.
WeightMoments exp_row_with_squares(double* x, float* squares, std::size_t n, double shift,
                                   double reference);

/// One number through exp_row.
double exp_one(double x);

/// x <- cap * tanh(x / cap).
void softcap_row(double* x, std::size_t n, double cap);

}  // namespace gqa
