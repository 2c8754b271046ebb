// Rounding and ulp of enclosures against those of the exact numbers inside.
#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "num/float_format_support.hpp"

using namespace gqa;
using namespace gqa::test;

namespace {

// midpoint +- 2^radius_exponent, both exact.
Ball ball_about(const Rational& midpoint, long radius_exponent) {
  const PrecisionScope exact(4000);
  Ball ball(midpoint);
  REQUIRE(ball.is_exact());
  mag_set_ui_2exp_si(arb_radref(ball.get()), 1, radius_exponent);
  return ball;
}

}  // namespace

TEST_CASE("float format: an exact ball rounds as its number does") {
  for (const FormatUnderTest& f : small_formats()) {
    CAPTURE(f.name);
    for (std::uint64_t code = 0; code < largest_code(f); ++code) {
      CAPTURE(code);
      const Rational midpoint = (magnitude_of(f, code) + magnitude_of(f, code + 1)) / 2;
      const PrecisionScope exact(4000);
      for (const Rational& value : {midpoint, Rational(-midpoint), Rational(midpoint + tiny()),
                                    Rational(tiny() - midpoint)}) {
        const Ball ball(value);
        REQUIRE(ball.is_exact());
        REQUIRE(round_to_nearest_even(*f.format, ball) == round_to_nearest_even(*f.format, value));
        const UlpExponents exponents = ulp_exponents(*f.format, ball);
        REQUIRE(exponents.smallest == ulp_exponent(*f.format, value));
        REQUIRE(exponents.largest == exponents.smallest);
      }
    }
  }
}

TEST_CASE("float format: a ball across a midpoint has no rounding, one beside it has") {
  for (const FormatUnderTest& f : all_formats()) {
    CAPTURE(f.name);
    std::mt19937_64 random(20240605);
    for (int i = 0; i < 2000; ++i) {
      const std::uint64_t code = random() % largest_code(f);
      CAPTURE(code);
      const Rational midpoint = (magnitude_of(f, code) + magnitude_of(f, code + 1)) / 2;
      for (const int sign : {1, -1}) {
        const std::uint64_t mark = sign < 0 ? sign_bit(f) : 0;
        const Rational signed_midpoint = midpoint * sign;
        const Rational outside = signed_midpoint + tiny() * 2 * sign;
        const Rational inside = signed_midpoint - tiny() * 2 * sign;
        REQUIRE_FALSE(round_to_nearest_even(*f.format, ball_about(signed_midpoint, -2000)));
        REQUIRE_FALSE(round_to_nearest_even(*f.format, ball_about(signed_midpoint, -9000)));
        REQUIRE_FALSE(round_to_nearest_even(*f.format, ball_about(outside, -1998)));
        REQUIRE(round_to_nearest_even(*f.format, ball_about(outside, -2000)) ==
                (mark | (code + 1)));
        REQUIRE(round_to_nearest_even(*f.format, ball_about(inside, -2000)) == (mark | code));
      }
    }
  }
}

TEST_CASE("float format: when a ball has a rounding, both its ends round to it") {
  std::mt19937_64 random(20240606);
  std::uniform_real_distribution<double> digits(-1.0, 1.0);
  for (const FormatUnderTest& f : all_formats()) {
    CAPTURE(f.name);
    int decided = 0;
    for (int i = 0; i < 5000; ++i) {
      const int exponent = static_cast<int>(random() % 60) - 40;
      const double midpoint = std::ldexp(digits(random), exponent);
      const double radius = std::ldexp(std::abs(digits(random)),
                                       exponent - f.format->precision - static_cast<int>(i % 8));
      const Ball ball = Ball::with_radius(midpoint, radius);
      CAPTURE(to_text(ball));
      const auto bits = round_to_nearest_even(*f.format, ball);
      const auto at_lower = round_to_nearest_even(*f.format, ball.lower());
      const auto at_upper = round_to_nearest_even(*f.format, ball.upper());
      REQUIRE(bits.has_value() == (at_lower == at_upper));
      if (bits) REQUIRE(*bits == at_lower);
      decided += bits ? 1 : 0;
    }
    CHECK(decided > 1000);
    CHECK(decided < 5000);
  }
}

TEST_CASE("float format: a ball that straddles or is not finite has no rounding") {
  for (const FormatUnderTest& f : all_formats()) {
    CAPTURE(f.name);
    CHECK_FALSE(round_to_nearest_even(*f.format, Ball(std::nan(""))));
    CHECK_FALSE(round_to_nearest_even(*f.format, Ball(INFINITY)));
    CHECK_FALSE(round_to_nearest_even(*f.format, Ball(1) / Ball(0)));
    CHECK_FALSE(round_to_nearest_even(*f.format, Ball::with_radius(0.0, 0x1p-1000)));
    CHECK(round_to_nearest_even(*f.format, Ball(0)) == 0);
    // [0, 2^-1999] rounds to +0 throughout, its mirror image to either zero.
    CHECK(round_to_nearest_even(*f.format, ball_about(tiny(), -2000)) == 0);
    CHECK_FALSE(round_to_nearest_even(*f.format, ball_about(-tiny(), -2000)));
    CHECK(round_to_nearest_even(*f.format, ball_about(-tiny(), -2001)) == sign_bit(f));
  }
}

TEST_CASE("float format: numbers with enormous exponents round without enormous effort") {
  Ball huge(1);
  arb_mul_2exp_si(huge.get(), huge.get(), 1L << 60);
  Ball minute(-1);
  arb_mul_2exp_si(minute.get(), minute.get(), -(1L << 60));
  // Exponents beyond 64 bits.
  const Ball huger = huge * huge * huge * huge * huge * huge * huge * huge * huge;
  const Ball minuter =
      minute * minute * minute * minute * minute * minute * minute * minute * minute;
  for (const FormatUnderTest& f : all_formats()) {
    CAPTURE(f.name);
    for (const Ball& ball : {huge, huger}) {
      CHECK(round_to_nearest_even(*f.format, ball) == overflow_pattern(f));
      CHECK(round_to_nearest_even(*f.format, -ball) == (overflow_pattern(f) | sign_bit(f)));
      CHECK(round_to_nearest_even(*f.format, ball, Overflow::saturate) == largest_code(f));
    }
    for (const Ball& ball : {minute, minuter}) {
      CHECK(round_to_nearest_even(*f.format, ball) == sign_bit(f));
      CHECK(ulp_exponents(*f.format, ball).smallest == ulp_exponent(*f.format, Rational(0)));
      CHECK(ulp_exponents(*f.format, ball).largest == ulp_exponent(*f.format, Rational(0)));
    }
  }
}

TEST_CASE("float format: ulp exponents of a ball are those of its ends") {
  std::mt19937_64 random(20240607);
  std::uniform_real_distribution<double> digits(-2.0, 2.0);
  for (const FormatUnderTest& f : all_formats()) {
    CAPTURE(f.name);
    for (int i = 0; i < 5000; ++i) {
      const int exponent = static_cast<int>(random() % 400) - 200;
      const double midpoint = std::ldexp(digits(random), exponent);
      const double radius =
          std::ldexp(std::abs(digits(random)), exponent - static_cast<int>(i % 30));
      const Ball ball = Ball::with_radius(midpoint, radius);
      CAPTURE(to_text(ball));
      const Rational lower = abs(ball.lower());
      const Rational upper = abs(ball.upper());
      const Rational nearest = ball.contains_zero() ? Rational(0) : std::min(lower, upper);
      const UlpExponents exponents = ulp_exponents(*f.format, ball);
      REQUIRE(exponents.smallest == ulp_exponent(*f.format, nearest));
      REQUIRE(exponents.largest == ulp_exponent(*f.format, std::max(lower, upper)));
    }
  }
  const UlpExponents about_one = ulp_exponents(binary64, Ball::with_radius(1.0, 0x1p-100));
  CHECK(about_one.smallest == -53);
  CHECK(about_one.largest == -52);
}
