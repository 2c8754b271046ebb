// The one door from text and floats to exact rationals.
#pragma once

#include <gmpxx.h>

#include <boost/multiprecision/cpp_int.hpp>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace gqa {

/// An exact rational number. Always canonical when made by this header:
/// mpq_class("2/4") != mpq_class("1/2") until canonicalised, and a zero
/// denominator ends the process inside GMP, so nothing else may build one.
using Rational = mpq_class;

/// The second, independent engine: other people's big numbers.
using BoostRational = boost::multiprecision::cpp_rational;

/// Largest |exponent| that decimal and hexadecimal text may carry.
inline constexpr long max_text_exponent = 20000;

/// Reads an exact number: an integer ("-12"), a fraction ("3/4"), a decimal
/// ("0.1", "1e-3") or a hexadecimal float ("0x1.8p-3"), with an optional sign
/// and nothing else around it.
///
/// Errors: InputError at `where` with code "rational.empty", "rational.syntax",
/// "rational.zero_denominator" or "rational.exponent_out_of_range".
Rational parse_rational(std::string_view text, std::string_view where = "number");

/// numerator / denominator, canonical.
/// Errors: InputError "rational.zero_denominator".
Rational make_rational(const mpz_class& numerator, const mpz_class& denominator);

/// The exact value of a finite double.
/// Errors: InputError "rational.not_finite".
Rational rational_from_double(double value, std::string_view where = "number");

/// "p" or "p/q", in lowest terms.
std::string to_text(const Rational& value);
std::string to_text(const BoostRational& value);

/// How much is computed for powers of exact numbers: some digits can ask for any size.
struct PowerRoom {
  /// Of one product of powers, numerator and denominator together: a million factors of 2 fit.
  static constexpr std::uint64_t product_bits = std::uint64_t{1} << 21;
  /// Of all products together.
  std::uint64_t bits = std::uint64_t{1} << 26;
};

/// The product of bases[j] ^ exponents[j], canonical; nullopt if an exponent is no integer or the
/// result might need more than product_bits, or more than `room` has left, of which its size is
/// taken. Nothing is computed then: sizes are bounded by bits of the base times exponent.
/// Preconditions: as many exponents as bases; bases are positive.
std::optional<Rational> product_of_powers(std::span<const Rational> bases,
                                          std::span<const Rational> exponents, PowerRoom& room);

/// 2^exponent, exactly.
Rational power_of_two(long exponent);

BoostRational to_boost(const Rational& value);
Rational from_boost(const BoostRational& value);

/// Converts a canonical rational to engine R.
template <class R>
R rational_cast(const Rational& value);
template <class R>
R rational_cast(const BoostRational& value);
template <>
inline Rational rational_cast<Rational>(const BoostRational& value) {
  return from_boost(value);
}
template <>
inline Rational rational_cast<Rational>(const Rational& value) {
  return value;
}
template <>
inline BoostRational rational_cast<BoostRational>(const Rational& value) {
  return to_boost(value);
}

}  // namespace gqa
