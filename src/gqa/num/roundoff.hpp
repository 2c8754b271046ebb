// The arithmetic of roundings: what n of them can do to a number.
//
// A rounding multiplies by 1 + d, |d| <= u. n of them multiply by a factor between (1 - u)^n and
// (1 + u)^n, and move a sum of terms that each go through at most n of them by at most
// gamma(n) = n u / (1 - n u) relative to the sum of magnitudes (Higham, Accuracy and Stability of
// Numerical Algorithms, 2nd ed., lemma 3.1 and section 3.1). gamma has a meaning only for n u < 1;
// the factors have one for every n. This is the only place for any of them.
#pragma once

#include <cstdint>
#include <limits>

#include "gqa/num/ball.hpp"

namespace gqa {

/// Unit roundoff of binary64 (IEEE 754-2019, table 3.5).
inline constexpr double unit_roundoff64 = 0x1p-53;
/// More than the roundings of any formula of a bound together.
inline constexpr double roundoff_safety = 1 + 0x1p-40;

/// gamma(n), rounded up; infinite from n u = 1/4 on, where no bound is of any use.
inline double gamma(double n, double u = unit_roundoff64) {
  return n * u < 0.25 ? n * u / (1 - n * u) * roundoff_safety
                      : std::numeric_limits<double>::infinity();
}

/// (1 + u)^n: at most the factor of n roundings. Finite for every n >= 0.
inline Ball growth(std::int64_t n, double u) {
  return exp(Ball(static_cast<double>(n)) * log(Ball(1) + Ball(u)));
}

/// At least |ln(1 + d)| for every |d| <= u: n roundings move a logarithm by n times that at most.
/// Infinite from u = 1/2 on.
inline double roundoff_logarithm(double u) {
  return u < 0.5 ? u / (1 - u) * roundoff_safety : std::numeric_limits<double>::infinity();
}

/// (1 - u)^n: at least the factor of n roundings. Precondition: u < 1.
inline Ball shrinkage(std::int64_t n, double u) {
  return exp(Ball(static_cast<double>(n)) * log(Ball(1) - Ball(u)));
}

}  // namespace gqa
