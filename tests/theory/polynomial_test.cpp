// Polynomials read from text, against values worked out by hand and at random points.
#include "gqa/theory/certificate_rules/polynomial.hpp"

#include <doctest/doctest.h>

#include <string>

#include "gqa/num/rational.hpp"
#include "support/random.hpp"

using namespace gqa;
using certificate_rules::parse_polynomial;
using certificate_rules::Polynomial;

namespace {

Rational value_at(const Polynomial& polynomial, const std::map<std::string, Rational>& point) {
  Rational sum = 0;
  for (const auto& [monomial, coefficient] : polynomial) {
    Rational term = coefficient;
    for (const auto& [variable, exponent] : monomial) {
      for (int k = 0; k < exponent; ++k) term *= point.at(variable);
    }
    sum += term;
  }
  return sum;
}

// A random expression and its value at the point, computed without the parser.
std::pair<std::string, Rational> random_expression(test::Random& random, int depth,
                                                   const std::map<std::string, Rational>& point) {
  if (depth == 0 || random.one_in(4)) {
    if (random.one_in(3)) {
      const std::int64_t constant = random.integer(0, 12);
      return {std::to_string(constant), Rational(static_cast<long>(constant))};
    }
    const std::string variable = random.one_in(2) ? "x" : "y_1";
    return {variable, point.at(variable)};
  }
  const auto [left, a] = random_expression(random, depth - 1, point);
  const auto [right, b] = random_expression(random, depth - 1, point);
  switch (random.integer(0, 2)) {
    case 0:
      return {"(" + left + " + " + right + ")", Rational(a + b)};
    case 1:
      return {"(" + left + "-" + right + ")", Rational(a - b)};
    default:
      return {"(" + left + ")*(-" + right + ")", Rational(-a * b)};
  }
}

bool is_rejected(const std::string& text) {
  try {
    parse_polynomial(text);
    return false;
  } catch (const CertificateRejected&) {
    return true;
  }
}

}  // namespace

TEST_CASE("polynomial: sums, differences and products expand to their coefficients") {
  CHECK(parse_polynomial("(a + b)*(a - b)") == Polynomial{{{{"a", 2}}, 1}, {{{"b", 2}}, -1}});
  CHECK(parse_polynomial(" -2*x*3 + x ") == Polynomial{{{{"x", 1}}, -5}});
  CHECK(parse_polynomial("x - (y - x) + y - 2*x").empty());
  CHECK(parse_polynomial("4*64") == Polynomial{{{}, 256}});
  CHECK(parse_polynomial("2 - 3 - 4") == Polynomial{{{}, -5}});
  CHECK(parse_polynomial("ab") != parse_polynomial("a*b"));
}

TEST_CASE("polynomial: an expanded expression has the expression's value at random points") {
  for (const std::uint64_t seed : test::seeds(300)) {
    CAPTURE(seed);
    test::Random random(seed);
    const std::map<std::string, Rational> point{
        {"x", make_rational(random.integer(-9, 9), random.integer(1, 5))},
        {"y_1", make_rational(random.integer(-9, 9), random.integer(1, 5))}};
    const auto [text, expected] = random_expression(random, 4, point);
    CAPTURE(text);
    CHECK(value_at(parse_polynomial(text), point) == expected);
  }
}

TEST_CASE("polynomial: what is no expression is rejected") {
  for (const std::string text : {"", " ", "a +", "*a", "(a", "a)", "a b", "2a", "a**b", "a^2", "_a",
                                 "1/2", "1.5", "a+-b", "--a", "a;b", "\xc3\xa4"}) {
    CAPTURE(text);
    CHECK(is_rejected(text));
  }
  CHECK(is_rejected(std::string(60, '(') + "a" + std::string(60, ')')));
  CHECK_FALSE(is_rejected(std::string(40, '(') + "a" + std::string(40, ')')));
  CHECK(is_rejected("a" + std::string(3000, ' ')));
  std::string power = "1";
  for (int k = 0; k < 9; ++k) power += "*(a + b + c + d + e + f + g + h)";
  CHECK(is_rejected(power));
}
