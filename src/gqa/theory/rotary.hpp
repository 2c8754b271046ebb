// Rotary position embedding by rotations with rational cosine and sine.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "gqa/attention/tensor.hpp"
#include "gqa/num/rational.hpp"

namespace gqa {

/// A rotation of the plane whose cosine and sine are rational: cosine^2 + sine^2 = 1.
struct RationalRotation {
  Rational cosine = 1;
  Rational sine = 0;

  /// From the Pythagorean triple (m^2 - n^2, 2 m n, m^2 + n^2); (2, 1) gives 3/5 and 4/5.
  /// Precondition: not both are zero.
  static RationalRotation pythagorean(long m, long n) {
    const mpz_class square_m = mpz_class(m) * m, square_n = mpz_class(n) * n;
    const mpz_class hypotenuse = square_m + square_n;
    return {make_rational(square_m - square_n, hypotenuse),
            make_rational(mpz_class(2) * m * n, hypotenuse)};
  }
  friend RationalRotation operator*(const RationalRotation& a, const RationalRotation& b) {
    return {Rational(a.cosine * b.cosine - a.sine * b.sine),
            Rational(a.cosine * b.sine + a.sine * b.cosine)};
  }
  /// The rotation applied `times` times, backwards if that is negative.
  RationalRotation power(std::int64_t times) const {
    RationalRotation base = times < 0 ? RationalRotation{cosine, Rational(-sine)} : *this;
    RationalRotation result;
    for (auto rest = static_cast<std::uint64_t>(times < 0 ? -times : times); rest > 0; rest /= 2) {
      if (rest % 2 == 1) result = result * base;
      base = base * base;
    }
    return result;
  }
  friend bool operator==(const RationalRotation&, const RationalRotation&) = default;
};

/// Rotates coordinates (2 p, 2 p + 1) of row i by rotations[p] ^ position(i), in place.
/// T is Rational or LogRational: anything with sums and products by rationals.
/// Precondition: rows have 2 * rotations.size() coordinates, positions.size() rows.
/// Source: Su et al., RoFormer (2021), equation 15, with rational angles.
template <class T>
void rotate_rows(MatrixView<T> rows, const std::vector<RationalRotation>& rotations,
                 const std::vector<std::int64_t>& positions) {
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    for (std::size_t p = 0; p < rotations.size(); ++p) {
      const RationalRotation turn = rotations[p].power(positions[i]);
      T& x = rows(i, 2 * p);
      T& y = rows(i, 2 * p + 1);
      T turned_x = T(x * turn.cosine) - T(y * turn.sine);
      T turned_y = T(x * turn.sine) + T(y * turn.cosine);
      x = std::move(turned_x);
      y = std::move(turned_y);
    }
  }
}

}  // namespace gqa
