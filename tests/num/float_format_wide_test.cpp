// binary32 and binary64 against the hardware, the C library and GMP.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>

#include "num/float_format_support.hpp"

using namespace gqa;
using namespace gqa::test;

namespace {

// Doubles near what makes a conversion to binary32 hard: ties of the 29 dropped bits,
// either end of the exponent range, subnormals; and plain random patterns.
double awkward_double(std::mt19937_64& random) {
  std::uint64_t bits = random();
  const auto choose = [&random](std::uint64_t count) { return random() % count; };
  if (choose(4) != 0) {
    const std::uint64_t exponent = 1023 - 155 + choose(290);
    bits = (bits & ~(std::uint64_t{0x7ff} << 52)) | (exponent << 52);
  }
  if (choose(2) != 0) {
    // Keep a random number of leading fraction bits, then 1000..., give or take one.
    const std::uint64_t dropped = 29 + choose(24);
    bits = (bits >> dropped << dropped) | (std::uint64_t{1} << (dropped - 1));
    bits += choose(3) - 1;
  }
  return std::bit_cast<double>(bits);
}

}  // namespace

TEST_CASE("float format: doubles round to binary32 as the hardware rounds them") {
  std::mt19937_64 random(20240601);
  for (int i = 0; i < 300000; ++i) {
    const double value = awkward_double(random);
    if (!std::isfinite(value) || value == 0.0) continue;
    CAPTURE(value);
    const auto expected = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    REQUIRE(round_to_nearest_even(binary32, Rational(value)) == expected);
    REQUIRE(round_to_nearest_even(binary32, Ball(value)) == expected);
    const bool exact = static_cast<double>(static_cast<float>(value)) == value;
    REQUIRE(encode_exact(binary32, value).has_value() == exact);
  }
}

TEST_CASE("float format: binary32 and binary64 patterns decode and encode as the hardware does") {
  std::mt19937_64 random(20240602);
  for (int i = 0; i < 300000; ++i) {
    const auto bits = static_cast<std::uint32_t>(random());
    const auto number = std::bit_cast<float>(bits);
    const double value = awkward_double(random);
    CAPTURE(bits);
    CAPTURE(value);
    if (std::isnan(number)) {
      REQUIRE(std::isnan(decode(binary32, bits)));
    } else {
      REQUIRE(decode(binary32, bits) == static_cast<double>(number));
      REQUIRE(encode_exact(binary32, static_cast<double>(number)) == bits);
    }
    if (std::isnan(value)) continue;
    REQUIRE(decode(binary64, std::bit_cast<std::uint64_t>(value)) == value);
    REQUIRE(encode_exact(binary64, value) == std::bit_cast<std::uint64_t>(value));
  }
  CHECK(std::signbit(decode(binary32, 0x80000000)));
  CHECK(encode_exact(binary64, INFINITY) == 0x7ff0000000000000);
  CHECK(encode_exact(binary32, -INFINITY) == 0xff800000);
  CHECK(encode_exact(binary64, NAN) == 0x7ff8000000000000);
  CHECK(encode_exact(binary32, NAN) == 0x7fc00000);
  CHECK(encode_exact(binary32, 0x1p-149) == 1);
  CHECK_FALSE(encode_exact(binary32, 0x1p-150).has_value());
  CHECK(encode_exact(binary64, 0x1p-1074) == 1);
}

TEST_CASE("float format: wide numbers round to themselves and midpoints to even") {
  std::mt19937_64 random(20240603);
  for (const FormatUnderTest& f : {all_formats()[4], all_formats()[5]}) {
    CAPTURE(f.name);
    for (int i = 0; i < 20000; ++i) {
      // Small codes (subnormals) and the last ones as often as any others.
      std::uint64_t code = random() % largest_code(f);
      if (i % 4 == 1) code >>= random() % 62;
      if (i % 4 == 2) code = largest_code(f) - 1 - random() % 100;
      if (i % 4 == 3) code = code >> f.fraction_bits << f.fraction_bits;
      CAPTURE(code);
      const Rational below = decode_fields(f, code).magnitude;
      const Rational above = decode_fields(f, code + 1).magnitude;
      const Rational midpoint = (below + above) / 2;
      REQUIRE(round_to_nearest_even(*f.format, below) == code);
      REQUIRE(round_to_nearest_even(*f.format, midpoint) == code + code % 2);
      REQUIRE(round_to_nearest_even(*f.format, Rational(-midpoint)) ==
              ((code + code % 2) | sign_bit(f)));
      REQUIRE(round_to_nearest_even(*f.format, Rational(midpoint - tiny())) == code);
      REQUIRE(round_to_nearest_even(*f.format, Rational(midpoint + tiny())) == code + 1);
      REQUIRE(ulp(*f.format, below) == above - below);
      REQUIRE(ulp(*f.format, midpoint) == above - below);
    }
  }
}

TEST_CASE("float format: decimal text rounds to binary64 as the C library's strtod does") {
  std::mt19937_64 random(20240604);
  for (int i = 0; i < 20000; ++i) {
    const int exponent = static_cast<int>(random() % 680) - 350;
    const std::string text = std::to_string(random()) + "e" + std::to_string(exponent);
    CAPTURE(text);
    const double expected = std::strtod(text.c_str(), nullptr);
    REQUIRE(round_to_nearest_even(binary64, parse_rational(text)) ==
            std::bit_cast<std::uint64_t>(expected));
  }
}
