// The 8- and 16-bit formats over every bit pattern.
#include <doctest/doctest.h>

#include <cmath>

#include "num/float_format_support.hpp"

using namespace gqa;
using namespace gqa::test;

namespace {

// Rounds `value` and `-value` and expects `code` with the sign of each.
void check_rounding(const FormatUnderTest& f, const Rational& value, std::uint64_t code,
                    Overflow overflow = Overflow::to_infinity) {
  CAPTURE(value.get_d());
  CAPTURE(code);
  CHECK(round_to_nearest_even(*f.format, value, overflow) == code);
  CHECK(round_to_nearest_even(*f.format, Rational(-value), overflow) == (code | sign_bit(f)));
}

}  // namespace

TEST_CASE("float format: decode agrees with the bit fields for every small pattern") {
  for (const FormatUnderTest& f : small_formats()) {
    CAPTURE(f.name);
    REQUIRE(f.format->name == f.name);
    for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << f.total_bits); ++bits) {
      CAPTURE(bits);
      const Decoded expected = decode_fields(f, bits);
      const double value = decode(*f.format, bits);
      REQUIRE(std::signbit(value) == expected.negative);
      REQUIRE(std::isnan(value) == expected.is_nan);
      REQUIRE(std::isinf(value) == expected.is_infinite);
      if (std::isfinite(value)) REQUIRE(Rational(std::abs(value)) == expected.magnitude);
    }
  }
}

TEST_CASE("float format: encode_exact inverts decode for every small pattern") {
  for (const FormatUnderTest& f : small_formats()) {
    CAPTURE(f.name);
    const std::uint64_t quiet_nan =
        f.has_infinity ? overflow_pattern(f) + (1U << (f.fraction_bits - 1)) : overflow_pattern(f);
    for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << f.total_bits); ++bits) {
      CAPTURE(bits);
      const double value = decode(*f.format, bits);
      REQUIRE(encode_exact(*f.format, value) == (std::isnan(value) ? quiet_nan : bits));
    }
  }
}

TEST_CASE("float format: encode_exact refuses what lies between or beyond the numbers") {
  for (const FormatUnderTest& f : small_formats()) {
    CAPTURE(f.name);
    for (std::uint64_t code = 0; code <= largest_code(f); ++code) {
      CAPTURE(code);
      const double value = decode(*f.format, code);
      REQUIRE_FALSE(encode_exact(*f.format, std::nextafter(value, INFINITY)).has_value());
      REQUIRE_FALSE(encode_exact(*f.format, -std::nextafter(value, INFINITY)).has_value());
    }
    REQUIRE_FALSE(encode_exact(*f.format, 2 * f.format->maximum()).has_value());
    REQUIRE(encode_exact(*f.format, INFINITY).has_value() == f.has_infinity);
  }
}

TEST_CASE("float format: every number rounds to itself, midpoints to even, others to nearest") {
  for (const FormatUnderTest& f : small_formats()) {
    CAPTURE(f.name);
    for (std::uint64_t code = 0; code < largest_code(f); ++code) {
      const Rational below = magnitude_of(f, code);
      const Rational above = magnitude_of(f, code + 1);
      const Rational midpoint = (below + above) / 2;
      if (code != 0) check_rounding(f, below, code);
      check_rounding(f, below + tiny(), code);
      check_rounding(f, midpoint - tiny(), code);
      check_rounding(f, midpoint, code % 2 == 0 ? code : code + 1);
      check_rounding(f, midpoint + tiny(), code + 1);
      check_rounding(f, above - tiny(), code + 1);
    }
  }
}

TEST_CASE("float format: overflow starts half an ulp above the largest number") {
  for (const FormatUnderTest& f : all_formats()) {
    CAPTURE(f.name);
    const std::uint64_t largest = largest_code(f);
    const std::uint64_t beyond = overflow_pattern(f);
    const Rational maximum = magnitude_of(f, largest);
    const Rational tie = maximum + (maximum - magnitude_of(f, largest - 1)) / 2;
    // A tie goes to the even neighbour: up where the largest code is odd.
    const std::uint64_t at_tie = largest % 2 == 0 ? largest : beyond;
    check_rounding(f, maximum, largest);
    check_rounding(f, tie - tiny(), largest);
    check_rounding(f, tie, at_tie);
    check_rounding(f, tie + tiny(), beyond);
    check_rounding(f, maximum * 2, beyond);
    check_rounding(f, power_of_two(20000), beyond);
    for (const Rational& value : {Rational(tie - tiny()), tie, Rational(tie + tiny()),
                                  Rational(maximum * 2), power_of_two(20000)}) {
      check_rounding(f, value, largest, Overflow::saturate);
    }
  }
}

TEST_CASE("float format: half the smallest number rounds to zero, more rounds to it") {
  for (const FormatUnderTest& f : all_formats()) {
    CAPTURE(f.name);
    const Rational smallest = magnitude_of(f, 1);
    CHECK(Rational(f.format->smallest_subnormal()) == smallest);
    check_rounding(f, smallest / 2, 0);
    check_rounding(f, smallest / 2 + tiny(), 1);
    check_rounding(f, smallest / 4, 0);
    check_rounding(f, power_of_two(-20000), 0);
    CHECK(round_to_nearest_even(*f.format, Rational(0)) == 0);
    CHECK(encode_exact(*f.format, -0.0) == sign_bit(f));
  }
}

TEST_CASE("float format: the published constants hold") {
  CHECK(binary16.maximum() == 65504.0);
  CHECK(bfloat16.maximum() == 0x1.fep127);
  CHECK(float8_e4m3fn.maximum() == 448.0);
  CHECK(float8_e5m2.maximum() == 57344.0);
  CHECK(binary32.maximum() == static_cast<double>(std::numeric_limits<float>::max()));
  CHECK(binary64.maximum() == std::numeric_limits<double>::max());
  CHECK(binary16.smallest_subnormal() == 0x1p-24);
  CHECK(bfloat16.smallest_subnormal() == 0x1p-133);
  CHECK(float8_e4m3fn.smallest_subnormal() == 0x1p-9);
  CHECK(float8_e5m2.smallest_subnormal() == 0x1p-16);
  CHECK(binary64.smallest_subnormal() == std::numeric_limits<double>::denorm_min());
  CHECK(binary64.unit_roundoff() == 0x1p-53);
  CHECK(binary32.unit_roundoff() == 0x1p-24);
  CHECK(binary16.unit_roundoff() == 0x1p-11);
  CHECK(bfloat16.unit_roundoff() == 0x1p-8);
  CHECK(float8_e4m3fn.unit_roundoff() == 0x1p-4);
  CHECK(float8_e5m2.unit_roundoff() == 0x1p-3);
}

TEST_CASE("float format: e4m3fn is NaN at S.1111.111 only, and 464 ties down to 448") {
  for (std::uint64_t bits = 0; bits < 256; ++bits) {
    CAPTURE(bits);
    CHECK(std::isnan(decode(float8_e4m3fn, bits)) == ((bits & 0x7f) == 0x7f));
    CHECK_FALSE(std::isinf(decode(float8_e4m3fn, bits)));
  }
  CHECK(round_to_nearest_even(float8_e4m3fn, Rational(464)) == 0x7e);
  CHECK(round_to_nearest_even(float8_e4m3fn, Rational(465)) == 0x7f);
  CHECK(round_to_nearest_even(float8_e4m3fn, Rational(-465)) == 0xff);
  CHECK(round_to_nearest_even(float8_e4m3fn, Rational(465), Overflow::saturate) == 0x7e);
}

TEST_CASE("float format: the ulp is the distance to the next number away from zero") {
  for (const FormatUnderTest& f : small_formats()) {
    CAPTURE(f.name);
    for (std::uint64_t code = 0; code < largest_code(f); ++code) {
      CAPTURE(code);
      const Rational below = magnitude_of(f, code);
      const Rational above = magnitude_of(f, code + 1);
      REQUIRE(ulp(*f.format, below) == above - below);
      REQUIRE(ulp(*f.format, Rational(-below)) == above - below);
      REQUIRE(ulp(*f.format, Rational((below + above) / 2)) == above - below);
      REQUIRE(ulp(*f.format, Rational(above - tiny())) == above - below);
      REQUIRE(ulp(*f.format, Rational(below + tiny())) == above - below);
    }
    const Rational maximum = magnitude_of(f, largest_code(f));
    const Rational last_gap = maximum - magnitude_of(f, largest_code(f) - 1);
    CHECK(ulp(*f.format, maximum) == last_gap);
    CHECK(ulp(*f.format, Rational(maximum * 4)) == last_gap * 4);
  }
  CHECK(ulp_exponent(binary64, Rational(1)) == -52);
  CHECK(ulp_exponent(binary64, Rational(1) - tiny()) == -53);
  CHECK(ulp_exponent(binary64, Rational(0)) == -1074);
  CHECK(ulp_exponent(binary32, power_of_two(200)) == 177);
  CHECK(ulp_exponent(binary32, power_of_two(-200)) == -149);
}
