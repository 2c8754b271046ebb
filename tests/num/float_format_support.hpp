// A second description of the float formats, for tests only: read off the standards
// field by field, sharing nothing with the code under test.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gqa/num/float_format.hpp"

namespace gqa::test {

struct FormatUnderTest {
  const FloatFormat* format;
  std::string name;
  int total_bits;
  int fraction_bits;
  int bias;
  bool has_infinity;
};

/// The formats small enough to try every bit pattern.
inline const std::vector<FormatUnderTest>& small_formats() {
  static const std::vector<FormatUnderTest> formats{
      {&binary16, "binary16", 16, 10, 15, true},
      {&bfloat16, "bfloat16", 16, 7, 127, true},
      {&float8_e4m3fn, "float8_e4m3fn", 8, 3, 7, false},
      {&float8_e5m2, "float8_e5m2", 8, 2, 15, true},
  };
  return formats;
}

inline const std::vector<FormatUnderTest>& all_formats() {
  static const std::vector<FormatUnderTest> formats = [] {
    std::vector<FormatUnderTest> result = small_formats();
    result.push_back({&binary32, "binary32", 32, 23, 127, true});
    result.push_back({&binary64, "binary64", 64, 52, 1023, true});
    return result;
  }();
  return formats;
}

struct Decoded {
  bool negative;
  bool is_nan;
  bool is_infinite;
  Rational magnitude;
};

/// The value of a bit pattern from its sign, exponent and fraction fields.
inline Decoded decode_fields(const FormatUnderTest& f, std::uint64_t bits) {
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << f.fraction_bits) - 1);
  const int exponent_bits = f.total_bits - 1 - f.fraction_bits;
  const std::uint64_t all_ones = (std::uint64_t{1} << exponent_bits) - 1;
  const std::uint64_t exponent = (bits >> f.fraction_bits) & all_ones;
  const bool negative = (bits >> (f.total_bits - 1)) != 0;
  if (exponent == all_ones) {
    if (f.has_infinity) return {negative, fraction != 0, fraction == 0, 0};
    if (fraction == (std::uint64_t{1} << f.fraction_bits) - 1) return {negative, true, false, 0};
  }
  Rational significand = Rational(mpz_class(fraction)) * power_of_two(-f.fraction_bits);
  if (exponent != 0) significand += 1;
  const long power = static_cast<long>(exponent == 0 ? 1 : exponent) - f.bias;
  return {negative, false, false, significand * power_of_two(power)};
}

inline Rational magnitude_of(const FormatUnderTest& f, std::uint64_t code) {
  return decode_fields(f, code).magnitude;
}

/// The code (pattern without sign) of the largest finite number.
inline std::uint64_t largest_code(const FormatUnderTest& f) {
  std::uint64_t code = (std::uint64_t{1} << (f.total_bits - 1)) - 1;
  while (decode_fields(f, code).is_nan || decode_fields(f, code).is_infinite) {
    // Skipping NaNs one by one would take 2^52 steps in binary64.
    code = f.has_infinity ? (code >> f.fraction_bits << f.fraction_bits) - 1 : code - 1;
  }
  return code;
}

/// What a positive overflow gives under Overflow::to_infinity.
inline std::uint64_t overflow_pattern(const FormatUnderTest& f) {
  return largest_code(f) + 1;
}

inline std::uint64_t sign_bit(const FormatUnderTest& f) {
  return std::uint64_t{1} << (f.total_bits - 1);
}

/// A positive number too small to matter except to break ties.
inline const Rational& tiny() {
  static const Rational value = power_of_two(-2000);
  return value;
}

}  // namespace gqa::test
