#include "gqa/theory/certificate_rules/enclosure.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace gqa::certificate_rules {
namespace {

mpz_class scaled(const mpz_class& x, unsigned bits) {
  return x << bits;
}
mpz_class floor_quotient(const mpz_class& a, const mpz_class& b) {
  mpz_class result;
  mpz_fdiv_q(result.get_mpz_t(), a.get_mpz_t(), b.get_mpz_t());
  return result;
}
mpz_class ceiling_quotient(const mpz_class& a, const mpz_class& b) {
  mpz_class result;
  mpz_cdiv_q(result.get_mpz_t(), a.get_mpz_t(), b.get_mpz_t());
  return result;
}

}  // namespace

Enclosure::Enclosure(mpz_class lower, mpz_class upper)
    : lower_(std::move(lower)), upper_(std::move(upper)) {
  CheckWork::spend(2 + mpz_size(upper_.get_mpz_t()) / 4);
}

Enclosure::Enclosure(const Rational& x)
    : lower_(floor_quotient(scaled(x.get_num(), bits), x.get_den())),
      upper_(ceiling_quotient(scaled(x.get_num(), bits), x.get_den())) {
  CheckWork::spend_on(x);
}

Enclosure Enclosure::root(const Rational& x) {
  require(x >= 0, "a root of a negative number is asked for");
  const mpz_class square = floor_quotient(scaled(x.get_num(), 2 * bits), x.get_den());
  mpz_class root;
  mpz_sqrt(root.get_mpz_t(), square.get_mpz_t());
  return {root, mpz_class(root + 1)};
}

Enclosure Enclosure::operator+(const Enclosure& other) const {
  return {mpz_class(lower_ + other.lower_), mpz_class(upper_ + other.upper_)};
}

Enclosure Enclosure::operator-(const Enclosure& other) const {
  return {mpz_class(lower_ - other.upper_), mpz_class(upper_ - other.lower_)};
}

Enclosure Enclosure::operator*(const Enclosure& other) const {
  if (lower_ >= 0 && other.lower_ >= 0) {
    mpz_class least = lower_ * other.lower_, most = upper_ * other.upper_;
    mpz_fdiv_q_2exp(least.get_mpz_t(), least.get_mpz_t(), bits);
    mpz_cdiv_q_2exp(most.get_mpz_t(), most.get_mpz_t(), bits);
    return {std::move(least), std::move(most)};
  }
  const std::array<mpz_class, 4> products{
      mpz_class(lower_ * other.lower_), mpz_class(lower_ * other.upper_),
      mpz_class(upper_ * other.lower_), mpz_class(upper_ * other.upper_)};
  const auto [lowest, highest] = std::minmax_element(products.begin(), products.end());
  mpz_class least = *lowest, most = *highest;
  mpz_fdiv_q_2exp(least.get_mpz_t(), least.get_mpz_t(), bits);
  mpz_cdiv_q_2exp(most.get_mpz_t(), most.get_mpz_t(), bits);
  return {std::move(least), std::move(most)};
}

Enclosure Enclosure::operator/(const Enclosure& other) const {
  require(other.lower_ > 0, "a divisor is not shown to be positive");
  const mpz_class least = scaled(lower_, bits), most = scaled(upper_, bits);
  return {floor_quotient(least, lower_ < 0 ? other.lower_ : other.upper_),
          ceiling_quotient(most, upper_ < 0 ? other.upper_ : other.lower_)};
}

mpz_class Enclosure::floor() const {
  return floor_quotient(lower_, scaled(1, bits));
}

Enclosure Enclosure::magnitude() const {
  const mpz_class most = std::max(mpz_class(abs(lower_)), mpz_class(abs(upper_)));
  return {0, most};
}

// exp(x) = exp(x / 2^16)^(2^16), by the series for |r| <= 1/16.
Enclosure Enclosure::exp(const Enclosure& x) {
  constexpr unsigned halvings = 16;
  constexpr unsigned long terms = 30;
  require(!Enclosure(Rational(4096)).is_below(x.magnitude()), "an exponent is too large");
  const mpz_class parts = scaled(1, halvings);
  const Enclosure r{floor_quotient(x.lower_, parts), ceiling_quotient(x.upper_, parts)};
  Enclosure sum{scaled(1, bits), scaled(1, bits)}, term = sum;
  for (unsigned long n = 1; n <= terms; ++n) {
    term = term * r;
    term = {floor_quotient(term.lower_, n), ceiling_quotient(term.upper_, n)};
    sum = sum + term;
    if (abs(term.lower_) <= 1 && abs(term.upper_) <= 1) break;
  }
  // What follows is less than a seventh of the last term, which is one unit or less: 16^-30 / 30!
  // is.
  const mpz_class rest = 2;
  sum = {mpz_class(sum.lower_ - rest), mpz_class(sum.upper_ + rest)};
  for (unsigned k = 0; k < halvings; ++k) sum = sum * sum;
  return {std::max(sum.lower_, mpz_class(0)), sum.upper_};
}

}  // namespace gqa::certificate_rules
