#include "gqa/num/float_format.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace gqa {

constinit const FloatFormat binary64{"binary64", 64, 11, 53, -1022, 1023, true};
constinit const FloatFormat binary32{"binary32", 32, 8, 24, -126, 127, true};
constinit const FloatFormat binary16{"binary16", 16, 5, 11, -14, 15, true};
constinit const FloatFormat bfloat16{"bfloat16", 16, 8, 8, -126, 127, true};
constinit const FloatFormat float8_e4m3fn{"float8_e4m3fn", 8, 4, 4, -6, 8, false};
constinit const FloatFormat float8_e5m2{"float8_e5m2", 8, 5, 3, -14, 15, true};

namespace {

// Below, a "code" is a bit pattern without its sign: codes of finite numbers are
// in the order of the magnitudes, and a carry out of the fraction walks into the
// next binade by itself.

int fraction_bits(const FloatFormat& format) {
  return format.precision - 1;
}

std::uint64_t sign_bit(const FloatFormat& format) {
  return std::uint64_t{1} << (format.total_bits - 1);
}

// All exponent bits set, fraction zero: infinity where the format has it.
std::uint64_t top_binade_code(const FloatFormat& format) {
  return ((std::uint64_t{1} << format.exponent_bits) - 1) << fraction_bits(format);
}

std::uint64_t quiet_nan_code(const FloatFormat& format) {
  if (!format.has_infinity) return sign_bit(format) - 1;
  return top_binade_code(format) | (std::uint64_t{1} << (fraction_bits(format) - 1));
}

std::uint64_t maximum_code(const FloatFormat& format) {
  return (format.has_infinity ? top_binade_code(format) : quiet_nan_code(format)) - 1;
}

std::uint64_t overflow_code(const FloatFormat& format, Overflow overflow) {
  if (overflow == Overflow::saturate) return maximum_code(format);
  return format.has_infinity ? top_binade_code(format) : quiet_nan_code(format);
}

// log2 of the spacing of the format among numbers in [2^binade, 2^(binade + 1)).
long spacing_exponent(const FloatFormat& format, long binade) {
  return std::max(binade, static_cast<long>(format.minimum_exponent)) - fraction_bits(format);
}

// The code of significand * 2^spacing. Precondition: spacing is that of a binade up
// to maximum_exponent, and the significand is at most 2^precision.
std::uint64_t assemble(const FloatFormat& format, std::uint64_t significand, long spacing) {
  const long binades_up = spacing - spacing_exponent(format, format.minimum_exponent);
  return (static_cast<std::uint64_t>(binades_up) << fraction_bits(format)) + significand;
}

// floor(log2 |value|). Precondition: value != 0.
long binade_of(const Rational& value) {
  const mpz_class numerator = abs(value.get_num());
  const mpz_class& denominator = value.get_den();
  const long guess = static_cast<long>(mpz_sizeinbase(numerator.get_mpz_t(), 2)) -
                     static_cast<long>(mpz_sizeinbase(denominator.get_mpz_t(), 2));
  // numerator / denominator lies in (2^(guess - 1), 2^(guess + 1)).
  const auto shift = static_cast<mp_bitcnt_t>(std::abs(guess));
  const bool reaches =
      guess >= 0 ? numerator >= (denominator << shift) : (numerator << shift) >= denominator;
  return reaches ? guess : guess - 1;
}

// |value| / 2^spacing, rounded to the nearest integer, ties to even.
std::uint64_t rounded_significand(const Rational& value, long spacing) {
  mpz_class numerator = abs(value.get_num());
  mpz_class denominator = value.get_den();
  if (spacing >= 0) {
    denominator <<= static_cast<mp_bitcnt_t>(spacing);
  } else {
    numerator <<= static_cast<mp_bitcnt_t>(-spacing);
  }
  mpz_class quotient;
  mpz_class remainder;
  mpz_fdiv_qr(quotient.get_mpz_t(), remainder.get_mpz_t(), numerator.get_mpz_t(),
              denominator.get_mpz_t());
  const int half = cmp(mpz_class(remainder * 2), denominator);
  if (half > 0 || (half == 0 && mpz_odd_p(quotient.get_mpz_t()) != 0)) ++quotient;
  static_assert(sizeof(unsigned long) == sizeof(std::uint64_t));
  return quotient.get_ui();
}

// floor(log2 |value|), clamped to the range of long; hugely negative for zero and
// hugely positive for infinity.
long binade_of(arf_srcptr value) {
  return arf_abs_bound_lt_2exp_si(value) - 1;
}

std::uint64_t rounded_significand(arf_srcptr value, long spacing) {
  arf_t scaled;
  arf_init(scaled);
  arf_mul_2exp_si(scaled, value, -spacing);
  const slong rounded = arf_get_si(scaled, ARF_RND_NEAR);
  arf_clear(scaled);
  return static_cast<std::uint64_t>(std::abs(rounded));
}

// The one rounding, for every kind of number. Precondition: value != 0.
template <class Number>
std::uint64_t round_magnitude(const FloatFormat& format, const Number& value, Overflow overflow) {
  const long binade = binade_of(value);
  if (binade > format.maximum_exponent) return overflow_code(format, overflow);
  const long spacing = spacing_exponent(format, binade);
  // Less than half the smallest positive number; also keeps the shifts short.
  if (binade < spacing - 1) return 0;
  const std::uint64_t code = assemble(format, rounded_significand(value, spacing), spacing);
  return code > maximum_code(format) ? overflow_code(format, overflow) : code;
}

std::uint64_t round_end(const FloatFormat& format, arf_srcptr value, Overflow overflow) {
  if (arf_is_zero(value) != 0) return 0;
  const std::uint64_t code = round_magnitude(format, value, overflow);
  return arf_sgn(value) < 0 ? code | sign_bit(format) : code;
}

// Enough bits that an end point of the ball is exact whenever the radius is not
// negligible beside the midpoint's last bit; otherwise it is rounded outwards.
slong bits_for_end(const Ball& ball) {
  return arf_bits(arb_midref(ball.get())) + 2 * MAG_BITS;
}

// An end point of a ball, owned.
class End {
 public:
  template <class Bound>
  End(const Ball& ball, Bound bound) {
    arf_init(value_);
    if (ball.is_exact()) {
      arf_set(value_, arb_midref(ball.get()));
    } else {
      bound(value_, ball.get(), bits_for_end(ball));
    }
  }
  ~End() { arf_clear(value_); }
  End(const End&) = delete;
  End& operator=(const End&) = delete;
  arf_srcptr get() const { return value_; }

 private:
  arf_t value_;
};

}  // namespace

double FloatFormat::unit_roundoff() const {
  return std::ldexp(1.0, -precision);
}
double FloatFormat::maximum() const {
  return decode(*this, maximum_code(*this));
}
double FloatFormat::smallest_subnormal() const {
  return decode(*this, 1);
}

double decode(const FloatFormat& format, std::uint64_t bits) {
  if (format.total_bits == 64) return std::bit_cast<double>(bits);
  if (format.total_bits == 32) {
    return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  const std::uint64_t sign = (bits & sign_bit(format)) << (64 - format.total_bits);
  const std::uint64_t code = bits & (sign_bit(format) - 1);
  double magnitude = 0.0;
  if (code > maximum_code(format)) {
    magnitude = format.has_infinity && code == top_binade_code(format)
                    ? std::numeric_limits<double>::infinity()
                    : std::numeric_limits<double>::quiet_NaN();
  } else if ((code >> fraction_bits(format)) == 0) {
    const long spacing = spacing_exponent(format, format.minimum_exponent);
    const auto unit = std::bit_cast<double>(static_cast<std::uint64_t>(spacing + 1023) << 52);
    magnitude = static_cast<double>(code) * unit;
  } else {
    // Exponent and fraction move as one; the exponent changes its bias.
    const auto bias_change = static_cast<std::uint64_t>(1022 + format.minimum_exponent);
    magnitude = std::bit_cast<double>((code << (52 - fraction_bits(format))) + (bias_change << 52));
  }
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(magnitude) | sign);
}

std::optional<std::uint64_t> encode_exact(const FloatFormat& format, double value) {
  if (std::isnan(value)) return quiet_nan_code(format);
  const std::uint64_t sign = std::signbit(value) ? sign_bit(format) : 0;
  if (std::isinf(value)) {
    if (!format.has_infinity) return std::nullopt;
    return sign | top_binade_code(format);
  }
  if (value == 0.0) return sign;
  const int binade = std::ilogb(value);
  if (binade > format.maximum_exponent) return std::nullopt;
  const long spacing = spacing_exponent(format, binade);
  // Exact: the result is at most 2^precision and has no more bits than the value.
  const double significand = std::scalbln(std::abs(value), -spacing);
  if (significand != std::floor(significand)) return std::nullopt;
  const std::uint64_t code = assemble(format, static_cast<std::uint64_t>(significand), spacing);
  if (code > maximum_code(format)) return std::nullopt;
  return sign | code;
}

std::uint64_t round_to_nearest_even(const FloatFormat& format, const Rational& value,
                                    Overflow overflow) {
  if (value == 0) return 0;
  const std::uint64_t code = round_magnitude(format, value, overflow);
  return value < 0 ? code | sign_bit(format) : code;
}

std::optional<std::uint64_t> round_to_nearest_even(const FloatFormat& format, const Ball& value,
                                                   Overflow overflow) {
  if (!value.is_finite()) return std::nullopt;
  // Rounding is monotonic, so what both ends round to, all between them do.
  const End lower(value, arb_get_lbound_arf);
  const End upper(value, arb_get_ubound_arf);
  const std::uint64_t bits = round_end(format, lower.get(), overflow);
  if (bits != round_end(format, upper.get(), overflow)) return std::nullopt;
  return bits;
}

long ulp_exponent(const FloatFormat& format, const Rational& value) {
  return spacing_exponent(format, value == 0 ? format.minimum_exponent : binade_of(value));
}

Rational ulp(const FloatFormat& format, const Rational& value) {
  return power_of_two(ulp_exponent(format, value));
}

UlpExponents ulp_exponents(const FloatFormat& format, const Ball& value) {
  const End nearest(value, arb_get_abs_lbound_arf);
  const End farthest(value, arb_get_abs_ubound_arf);
  return {spacing_exponent(format, binade_of(nearest.get())),
          spacing_exponent(format, binade_of(farthest.get()))};
}

}  // namespace gqa
