// Common positive roots of polynomials with rational coefficients, decided with witnesses.
#pragma once

#include <optional>
#include <vector>

#include "gqa/theory/rational_matrix.hpp"

namespace gqa {

/// Coefficients of 1, y, y^2, ...; leading zeros are allowed.
using RationalPolynomial = RationalVector;

/// Of polynomials that are not all zero.
struct CommonDivisor {
  RationalPolynomial divisor;                 ///< greatest, monic
  std::vector<RationalPolynomial> cofactors;  ///< sum of cofactor x polynomial = divisor
  std::vector<RationalPolynomial> quotients;  ///< polynomial = divisor x quotient
};

/// Precondition: one of the polynomials is not zero.
CommonDivisor common_divisor(const std::vector<RationalPolynomial>& polynomials);

RationalPolynomial polynomial_product(const RationalPolynomial& a, const RationalPolynomial& b);

/// Does the polynomial have a root y > 0?
struct PositiveRoots {
  /// If so: 0 < lower <= upper with signs that differ, or a zero, of the polynomial's square-free
  /// part, which is `simple`.
  bool any = false;
  RationalPolynomial simple;
  Rational lower, upper;
  /// If not: ascending positive numbers; on each interval between neighbours, before the first and
  /// beyond the last, Descartes' rule of signs shows that there is none.
  RationalVector breaks;
};

/// By bisection and Descartes' rule of signs. It ends, by the theorem of one circle: an interval
/// shows no change of signs as soon as no complex root is in the disc over it, and one for the only
/// simple real root near it (Collins and Akritas, 1976; Alesina and Galuzzi, 1998).
/// Precondition: the polynomial is not zero.
PositiveRoots positive_roots(const RationalPolynomial& polynomial);

}  // namespace gqa
