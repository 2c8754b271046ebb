// IEEE and machine-learning float formats: bits <-> exact value, rounding, ulp.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "gqa/num/ball.hpp"
#include "gqa/num/rational.hpp"

namespace gqa {

/// A binary floating-point format of at most 64 bits with gradual underflow.
///
/// Source: IEEE 754-2019 (binary64, binary32, binary16); bfloat16 as the upper
/// half of binary32; OCP 8-bit Floating Point Specification 1.0, section 5
/// (E5M2, and E4M3 here with ONNX's suffix "fn": finite, no infinities, NaN only
/// at S.1111.111).
struct FloatFormat {
  std::string_view name;
  int total_bits;
  int exponent_bits;
  int precision;         ///< significand bits with the implicit one (binary64: 53)
  int minimum_exponent;  ///< exponent e of the smallest normal number 2^e
  int maximum_exponent;  ///< exponent e of the largest finite number (its binade)
  bool has_infinity;     ///< false: float8 e4m3fn

  /// Unit roundoff 2^-precision as a double.
  double unit_roundoff() const;
  /// The largest finite number; the smallest positive (subnormal) number.
  double maximum() const;
  double smallest_subnormal() const;
};

extern const FloatFormat binary64;
extern const FloatFormat binary32;
extern const FloatFormat binary16;
extern const FloatFormat bfloat16;
extern const FloatFormat float8_e4m3fn;
extern const FloatFormat float8_e5m2;

/// What to do beyond the largest finite number (after rounding as if the exponent
/// range were unbounded): IEEE's infinity (NaN where the format has none), or the
/// largest finite number, as ONNX's saturating casts do.
enum class Overflow { to_infinity, saturate };

/// The exact value of a bit pattern as a binary64, which holds every value of
/// every format above; NaN and infinities come out as such, the sign of zero is
/// kept. Precondition: bits above total_bits are zero.
double decode(const FloatFormat& format, std::uint64_t bits);

/// The bit pattern of a value that the format represents exactly (any NaN: the
/// positive quiet one without payload). nullopt if it does not.
std::optional<std::uint64_t> encode_exact(const FloatFormat& format, double value);

/// Rounds to nearest, ties to even. Zero gives +0; a tiny negative value gives -0;
/// what overflows keeps its sign, also as a NaN.
std::uint64_t round_to_nearest_even(const FloatFormat& format, const Rational& value,
                                    Overflow overflow = Overflow::to_infinity);

/// The bits that every number of the ball rounds to, or nullopt if they differ or
/// the ball is not finite. A ball that contains zero in its interior straddles the
/// signs of zero and gives nullopt unless it is exactly zero.
std::optional<std::uint64_t> round_to_nearest_even(const FloatFormat& format, const Ball& value,
                                                   Overflow overflow = Overflow::to_infinity);

/// log2 of the ulp at a real number: the distance 2^k between neighbours of the
/// format in the binade of |value| (below the normal range: the subnormal spacing;
/// above the largest finite number: as if the exponent range went on).
/// Source: Muller et al., Handbook of Floating-Point Arithmetic, 2nd ed., section 2.3.2
/// (Goldberg's definition, extended to reals).
long ulp_exponent(const FloatFormat& format, const Rational& value);

/// 2^ulp_exponent. Exact.
Rational ulp(const FloatFormat& format, const Rational& value);

/// Exponents with smallest <= ulp_exponent(x) <= largest for every x in a ball:
/// those at the ends of smaller and of larger magnitude, equal unless the ball
/// straddles a binade (or touches one as closely as the precision of its midpoint).
struct UlpExponents {
  long smallest;
  long largest;
};
/// Precondition: value.is_finite().
UlpExponents ulp_exponents(const FloatFormat& format, const Ball& value);

}  // namespace gqa
