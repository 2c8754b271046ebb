#include "gqa/num/rational.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "gqa/error.hpp"

namespace gqa {
namespace {

// A cursor over the text of one number; it knows how to fail.
class NumberText {
 public:
  NumberText(std::string_view text, std::string_view where) : text_(text), where_(where) {}

  [[noreturn]] void fail(const char* code, const std::string& reason) const {
    throw InputError(code, std::string(where_), fmt::format("\"{}\" {}", text_, reason));
  }
  [[noreturn]] void bad_syntax() const {
    fail("rational.syntax",
         fmt::format("is not an exact number: write an integer, a fraction p/q, a "
                     "decimal or a hexadecimal float{}",
                     text_.find(',') == text_.npos ? "" : "; a decimal has a point, no comma"));
  }
  bool done() const { return position_ == text_.size(); }
  bool take(char expected) {
    if (done() || text_[position_] != expected) return false;
    ++position_;
    return true;
  }
  bool take_either(char lower, char upper) { return take(lower) || take(upper); }

  std::string_view digits(bool hexadecimal) {
    const std::size_t start = position_;
    while (!done() && is_digit(text_[position_], hexadecimal)) ++position_;
    return text_.substr(start, position_ - start);
  }

  // The exponent behind e or p; absent is 0.
  long exponent() {
    const bool negative = take('-');
    if (!negative) take('+');
    const std::string_view digits_text = digits(false);
    if (digits_text.empty()) bad_syntax();
    long value = 0;
    for (const char digit : digits_text) {
      value = value * 10 + (digit - '0');
      if (value > max_text_exponent) {
        fail("rational.exponent_out_of_range",
             fmt::format("has an exponent beyond {}", max_text_exponent));
      }
    }
    return negative ? -value : value;
  }

 private:
  static bool is_digit(char c, bool hexadecimal) {
    if (c >= '0' && c <= '9') return true;
    return hexadecimal && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'));
  }

  std::string_view text_;
  std::string_view where_;
  std::size_t position_ = 0;
};

mpz_class integer_from(std::string_view digits, int base) {
  return digits.empty() ? mpz_class(0) : mpz_class(std::string(digits), base);
}

mpz_class power(unsigned long base, long exponent) {
  mpz_class result;
  mpz_ui_pow_ui(result.get_mpz_t(), base, static_cast<unsigned long>(exponent));
  return result;
}

// mantissa * base^exponent
Rational scaled(const mpz_class& mantissa, unsigned long base, long exponent) {
  if (exponent >= 0) return Rational(mpz_class(mantissa * power(base, exponent)));
  return make_rational(mantissa, power(base, -exponent));
}

Rational parse_hexadecimal(NumberText& text) {
  const std::string_view whole = text.digits(true);
  const std::string_view fraction = text.take('.') ? text.digits(true) : std::string_view();
  if (whole.empty() && fraction.empty()) text.bad_syntax();
  const long exponent = text.take_either('p', 'P') ? text.exponent() : 0;
  if (!text.done()) text.bad_syntax();
  const mpz_class mantissa = integer_from(std::string(whole) + std::string(fraction), 16);
  return scaled(mantissa, 2, exponent - 4 * static_cast<long>(fraction.size()));
}

Rational parse_decimal_or_fraction(NumberText& text) {
  const std::string_view whole = text.digits(false);
  if (!whole.empty() && text.take('/')) {
    const std::string_view denominator = text.digits(false);
    if (denominator.empty() || !text.done()) text.bad_syntax();
    const mpz_class divisor = integer_from(denominator, 10);
    if (divisor == 0) text.fail("rational.zero_denominator", "has a zero denominator");
    return make_rational(integer_from(whole, 10), divisor);
  }
  const std::string_view fraction = text.take('.') ? text.digits(false) : std::string_view();
  if (whole.empty() && fraction.empty()) text.bad_syntax();
  const long exponent = text.take_either('e', 'E') ? text.exponent() : 0;
  if (!text.done()) text.bad_syntax();
  const mpz_class mantissa = integer_from(std::string(whole) + std::string(fraction), 10);
  return scaled(mantissa, 10, exponent - static_cast<long>(fraction.size()));
}

}  // namespace

Rational parse_rational(std::string_view text, std::string_view where) {
  NumberText cursor(text, where);
  if (text.empty()) cursor.fail("rational.empty", "is empty where a number was expected");
  const bool negative = cursor.take('-');
  if (!negative) cursor.take('+');
  const std::string_view unsigned_text = text.substr(text[0] == '-' || text[0] == '+' ? 1 : 0);
  const bool hexadecimal = unsigned_text.starts_with("0x") || unsigned_text.starts_with("0X");
  if (hexadecimal) {
    cursor.take('0');
    cursor.take_either('x', 'X');
  }
  Rational magnitude = hexadecimal ? parse_hexadecimal(cursor) : parse_decimal_or_fraction(cursor);
  return negative ? Rational(-magnitude) : magnitude;
}

Rational make_rational(const mpz_class& numerator, const mpz_class& denominator) {
  if (denominator == 0) {
    throw InputError("rational.zero_denominator", "number", "the denominator is zero");
  }
  Rational result(numerator, denominator);
  result.canonicalize();
  return result;
}

Rational rational_from_double(double value, std::string_view where) {
  if (!std::isfinite(value)) {
    throw InputError("rational.not_finite", std::string(where),
                     fmt::format("{} is not a finite number", value));
  }
  return Rational(value);
}

std::string to_text(const Rational& value) {
  return value.get_str();
}
std::string to_text(const BoostRational& value) {
  return value.str();
}

namespace {

// 1 takes no room, however often it is a factor.
std::uint64_t bits_of(const mpz_class& factor) {
  return factor == 1 ? 0 : mpz_sizeinbase(factor.get_mpz_t(), 2);
}

// Bits of base ^ exponent, or nullopt beyond `most`.
std::optional<std::uint64_t> power_bits(const Rational& base, const Rational& exponent,
                                        std::uint64_t most) {
  if (exponent.get_den() != 1) return std::nullopt;
  const std::uint64_t bits = bits_of(base.get_num()) + bits_of(base.get_den());
  if (bits == 0 || exponent == 0) return 0;
  const mpz_class size = abs(exponent.get_num());
  if (size > static_cast<unsigned long>(most / bits)) return std::nullopt;
  return bits * size.get_ui();
}

}  // namespace

std::optional<Rational> product_of_powers(std::span<const Rational> bases,
                                          std::span<const Rational> exponents, PowerRoom& room) {
  std::uint64_t left = std::min(room.bits, PowerRoom::product_bits);
  for (std::size_t j = 0; j < bases.size(); ++j) {
    const auto bits = power_bits(bases[j], exponents[j], left);
    if (!bits) return std::nullopt;
    left -= *bits;
    room.bits -= *bits;
  }
  mpz_class numerator = 1, denominator = 1, power;
  for (std::size_t j = 0; j < bases.size(); ++j) {
    if (bases[j] == 1 || exponents[j] == 0) continue;
    const unsigned long size = mpz_class(abs(exponents[j].get_num())).get_ui();
    const bool up = exponents[j] > 0;
    mpz_pow_ui(power.get_mpz_t(), bases[j].get_num_mpz_t(), size);
    (up ? numerator : denominator) *= power;
    mpz_pow_ui(power.get_mpz_t(), bases[j].get_den_mpz_t(), size);
    (up ? denominator : numerator) *= power;
  }
  return make_rational(numerator, denominator);
}

Rational power_of_two(long exponent) {
  return scaled(1, 2, exponent);
}

BoostRational to_boost(const Rational& value) {
  using boost::multiprecision::cpp_int;
  return BoostRational(cpp_int(value.get_num().get_str()), cpp_int(value.get_den().get_str()));
}

Rational from_boost(const BoostRational& value) {
  return make_rational(mpz_class(numerator(value).str()), mpz_class(denominator(value).str()));
}

}  // namespace gqa
