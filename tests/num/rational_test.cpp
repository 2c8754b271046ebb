#include "gqa/num/rational.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <utility>
#include <vector>

#include "support/errors.hpp"
#include "support/random.hpp"

using namespace gqa;
using gqa::test::refusal_of;

namespace {

// numerator / denominator by GMP's own conversion, canonical.
Rational quotient(const char* numerator, const char* denominator) {
  Rational value{mpz_class(numerator), mpz_class(denominator)};
  value.canonicalize();
  return value;
}

std::string rational_refusal(std::string_view text) {
  return refusal_of([&] { parse_rational(text, "scale"); });
}

}  // namespace

TEST_CASE("rational: integers, fractions, decimals and hexadecimal floats are read exactly") {
  const std::pair<const char*, Rational> cases[] = {
      {"0", 0},
      {"-0", 0},
      {"+7", 7},
      {"-12", -12},
      {"007", 7},
      {"3/4", quotient("3", "4")},
      {"-3/4", quotient("-3", "4")},
      {"6/8", quotient("3", "4")},
      {"0/5", 0},
      {"0.1", quotient("1", "10")},
      {".5", quotient("1", "2")},
      {"5.", 5},
      {"-1.25", quotient("-5", "4")},
      {"1e3", 1000},
      {"1E+3", 1000},
      {"1.5e-3", quotient("3", "2000")},
      {"0x10", 16},
      {"0X1F", 31},
      {"0x1.8p-3", quotient("3", "16")},
      {"-0x.8P1", -1},
      {"0x1.999999999999ap-4", Rational(0.1)},
      {"123456789012345678901234567890", quotient("123456789012345678901234567890", "1")},
  };
  for (const auto& [text, expected] : cases) {
    CAPTURE(text);
    CHECK(to_text(parse_rational(text)) == to_text(expected));
  }
}

TEST_CASE("rational: a decimal is not the double nearest to it") {
  CHECK(parse_rational("0.1") != Rational(0.1));
  CHECK(parse_rational("0.1") * 10 == 1);
}

TEST_CASE("rational: an empty text is refused as empty") {
  CHECK(rational_refusal("") == "rational.empty at scale");
}

TEST_CASE("rational: text that is no exact number is refused as syntax, naming the field") {
  for (const std::string_view text :
       {" ",    " 1",    "1 ",    "-",     "+",     "+-1",   "--1",   "1/",  "/2",      "1/-2",
        "1/+2", "1/2/",  "1/2/3", "1.2/3", "1/2.5", ".",     "e5",    "1e",  "1e+",     "1e1.5",
        "1..2", "1.2.3", "0x",    "0xp1",  "0x.",   "0x1p",  "0x1/2", "0xg", "x10",     "1p3",
        "nan",  "NaN",   "inf",   "-inf",  "1,5",   "1_000", "1f",    "ten", "\xc2\xbd"}) {
    CAPTURE(text);
    CHECK(rational_refusal(text) == "rational.syntax at scale");
  }
  CHECK(rational_refusal(std::string_view("1\0", 2)) == "rational.syntax at scale");
  CHECK(rational_refusal(std::string_view("1/2\0", 4)) == "rational.syntax at scale");
}

TEST_CASE("rational: a zero denominator is refused and does not end the process") {
  for (const std::string_view text : {"1/0", "0/0", "-1/00", "1/000000"}) {
    CAPTURE(text);
    CHECK(rational_refusal(text) == "rational.zero_denominator at scale");
  }
  CHECK(refusal_of([] { make_rational(1, 0); }) == "rational.zero_denominator at number");
  CHECK(refusal_of([] { make_rational(0, 0); }) == "rational.zero_denominator at number");
}

TEST_CASE("rational: an exponent beyond the limit is refused, one at the limit is read") {
  for (const std::string_view text :
       {"1e20001", "1e-20001", "0x1p20001", "0x1p-20001", "1e999999999999999999999999"}) {
    CAPTURE(text);
    CHECK(rational_refusal(text) == "rational.exponent_out_of_range at scale");
  }
  CHECK(parse_rational("0x1p20000") == power_of_two(max_text_exponent));
  CHECK(parse_rational("1e-20000") * parse_rational("1e20000") == 1);
}

TEST_CASE("rational: what comes through the door is canonical") {
  CHECK(parse_rational("2/4") == parse_rational("1/2"));
  CHECK(parse_rational("2/4").get_den() == 2);
  CHECK(parse_rational("0.50") == parse_rational("0x0.8"));
  CHECK(parse_rational("-0/3").get_den() == 1);
  CHECK(make_rational(2, -4) == quotient("-1", "2"));
  CHECK(make_rational(2, -4).get_den() == 2);
}

TEST_CASE("rational: a double that is no number is refused, a finite one is taken exactly") {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double value : {std::numeric_limits<double>::quiet_NaN(), infinity, -infinity}) {
    CAPTURE(value);
    CHECK(refusal_of([&] { rational_from_double(value, "atol"); }) ==
          "rational.not_finite at atol");
  }
  CHECK(rational_from_double(-0.0) == 0);
  CHECK(rational_from_double(0.1) == quotient("3602879701896397", "36028797018963968"));
  CHECK(rational_from_double(std::numeric_limits<double>::denorm_min()) == power_of_two(-1074));
}

TEST_CASE("rational: powers of two") {
  CHECK(power_of_two(0) == 1);
  CHECK(power_of_two(10) == 1024);
  CHECK(power_of_two(-3) == quotient("1", "8"));
}

TEST_CASE("rational: text and the second engine give the number back") {
  for (const std::uint64_t seed : test::seeds(300)) {
    test::Random random(seed);
    const Rational value = random.rational();
    CAPTURE(seed);
    CAPTURE(to_text(value));
    CHECK(parse_rational(to_text(value)) == value);
    CHECK(from_boost(to_boost(value)) == value);
    CHECK(to_text(to_boost(value)) == to_text(value));
    CHECK(rational_cast<Rational>(value) == value);
    CHECK(rational_cast<BoostRational>(value) == to_boost(value));
  }
}

TEST_CASE("rational: products of powers are exact, and refused by size before they are computed") {
  const std::vector<Rational> bases{2, quotient("3", "5"), 1};
  PowerRoom room;
  CHECK(product_of_powers(bases, std::vector<Rational>{3, -2, 7}, room) == quotient("200", "9"));
  CHECK(product_of_powers(bases, std::vector<Rational>{0, 0, quotient("1", "1")}, room) == 1);
  CHECK_FALSE(product_of_powers(bases, std::vector<Rational>{quotient("1", "2"), 0, 0}, room));
  // 2^1000000 has a million bits, 10^20000 to that power would have 66 thousand million; one to any
  // power has one.
  PowerRoom fresh;
  const std::vector<Rational> two{2};
  CHECK(product_of_powers(two, std::vector<Rational>{1000000}, fresh) == power_of_two(1000000));
  CHECK_FALSE(product_of_powers(two, std::vector<Rational>{2000000}, fresh));
  const std::vector<Rational> huge{parse_rational("1e20000")};
  CHECK_FALSE(product_of_powers(huge, std::vector<Rational>{1000000}, fresh));
  CHECK_FALSE(product_of_powers(huge, std::vector<Rational>{-1000000}, fresh));
  const std::vector<Rational> one{1};
  CHECK(product_of_powers(one, std::vector<Rational>{parse_rational("1e300")}, fresh) == 1);
}

TEST_CASE("rational: the room of several products is used up by all of them") {
  PowerRoom room;
  const std::vector<Rational> two{2};
  int products = 0;
  while (product_of_powers(two, std::vector<Rational>{1000000}, room)) ++products;
  CHECK(products == 33);  // of 2^26 bits, two million each
}
