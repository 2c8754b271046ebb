#include "gqa/num/word_fraction.hpp"

namespace gqa {
namespace {

constexpr WideInteger word_limit = WideInteger{1} << 62;

mpz_class to_integer(WideInteger value) {
  const bool negative = value < 0;
  const WideInteger magnitude = negative ? -value : value;
  mpz_class result(static_cast<unsigned long>(magnitude >> 62));
  result <<= 62;
  result += static_cast<unsigned long>(magnitude & (word_limit - 1));
  return negative ? mpz_class(-result) : result;
}

}  // namespace

void set_fraction(Rational& result, WideInteger numerator, WideInteger denominator) {
  const WideInteger magnitude = numerator < 0 ? -numerator : numerator;
  if (magnitude >= word_limit || denominator >= word_limit) {
    result = make_rational(to_integer(numerator), to_integer(denominator));
    return;
  }
  const auto n = static_cast<std::int64_t>(numerator);
  const auto d = static_cast<std::int64_t>(denominator);
  const std::int64_t divisor = std::gcd(n, d);
  mpz_set_si(result.get_num_mpz_t(), n / divisor);
  mpz_set_si(result.get_den_mpz_t(), d / divisor);
}

}  // namespace gqa
