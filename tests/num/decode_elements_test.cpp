#include "gqa/num/decode_elements.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "num/float_format_support.hpp"

using namespace gqa;
using namespace gqa::test;

namespace {

// Compares the elements of these patterns, one word after the other, with decode of each.
void check_elements(const FloatFormat& format, const std::vector<std::uint64_t>& patterns) {
  const auto width = static_cast<std::size_t>(format.total_bits) / 8;
  std::vector<std::byte> bytes(patterns.size() * width);
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    std::memcpy(bytes.data() + i * width, &patterns[i], width);
  }
  std::vector<double> values(patterns.size() + 1, -7.0);
  decode_elements(format, bytes.data(), patterns.size(), values.data());
  CHECK(values.back() == -7.0);
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    CAPTURE(patterns[i]);
    const double expected = decode(format, patterns[i]);
    REQUIRE(std::signbit(values[i]) == std::signbit(expected));
    REQUIRE(std::isnan(values[i]) == std::isnan(expected));
    if (!std::isnan(expected)) REQUIRE(values[i] == expected);
  }
}

}  // namespace

TEST_CASE("decode_elements: every pattern of the small formats is what decode says") {
  for (const FormatUnderTest& f : small_formats()) {
    CAPTURE(f.name);
    std::vector<std::uint64_t> patterns(std::size_t{1} << f.total_bits);
    for (std::size_t bits = 0; bits < patterns.size(); ++bits) patterns[bits] = bits;
    check_elements(*f.format, patterns);
  }
}

TEST_CASE("decode_elements: binary32 and binary64 keep subnormal numbers, zeros and infinities") {
  check_elements(binary32, {0x00000000, 0x80000000, 0x00000001, 0x807FFFFF, 0x3FC00000, 0x7F7FFFFF,
                            0x7F800000, 0xFF800000, 0x7FC00000});
  check_elements(binary64, {0, 0x8000000000000000, 1, 0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000,
                            0xFFF0000000000000, 0x7FF8000000000000});
}

TEST_CASE("decode_elements: nothing is read of no elements") {
  double untouched = 3;
  decode_elements(binary16, nullptr, 0, &untouched);
  CHECK(untouched == 3);
}
