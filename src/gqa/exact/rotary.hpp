// Rotary position embedding by rotations with rational cosine and sine.
#pragma once

#include <cstdint>
#include <span>
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

/// Which coordinates turn together: ONNX RotaryEmbedding's attribute `interleaved`.
enum class RotaryPairs {
  halves,      ///< p and p + n, of n pairs: interleaved = 0, as Llama and GPT-NeoX do
  interleaved  ///< 2 p and 2 p + 1: interleaved = 1, as the RoFormer paper and GPT-J do
};

/// Rotates pair p of row i by rotations[p] ^ positions[i], in place. Coordinates after the
/// 2 * rotations.size() first stay as they are (ONNX: rotary_embedding_dim).
/// T is Rational or LogRational: anything with sums and products by rationals.
/// Precondition: rows have at least 2 * rotations.size() coordinates; one position per row.
/// Source: Su et al., RoFormer (2021), equation 15, with rational angles; ONNX RotaryEmbedding-23.
template <class T>
void rotate_rows(MatrixView<T> rows, const std::vector<RationalRotation>& rotations,
                 std::span<const std::int64_t> positions,
                 RotaryPairs pairs = RotaryPairs::interleaved) {
  const std::size_t n = rotations.size();
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    for (std::size_t p = 0; p < n; ++p) {
      const RationalRotation turn = rotations[p].power(positions[i]);
      const bool halves = pairs == RotaryPairs::halves;
      T& x = rows(i, halves ? p : 2 * p);
      T& y = rows(i, halves ? p + n : 2 * p + 1);
      T turned_x = T(x * turn.cosine) - T(y * turn.sine);
      T turned_y = T(x * turn.sine) + T(y * turn.cosine);
      x = std::move(turned_x);
      y = std::move(turned_y);
    }
  }
}

}  // namespace gqa
