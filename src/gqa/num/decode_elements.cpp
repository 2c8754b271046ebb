#include "gqa/num/decode_elements.hpp"

#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

namespace gqa {
namespace {

template <class Word, class Convert>
void convert(const std::byte* from, std::size_t count, double* to, Convert value_of) {
  for (std::size_t i = 0; i < count; ++i) {
    Word word;
    std::memcpy(&word, from + i * sizeof word, sizeof word);
    to[i] = value_of(word);
  }
}

double value_of_float(float value) {
  return static_cast<double>(value);
}

// The upper half of a binary32.
double value_of_bfloat16(std::uint16_t word) {
  return value_of_float(std::bit_cast<float>(static_cast<std::uint32_t>(word) << 16));
}

// Values of all patterns of a format of at most 16 bits; binary32 holds each.
std::vector<float> values_of_all(const FloatFormat& format) {
  std::vector<float> values(std::size_t{1} << format.total_bits);
  for (std::size_t bits = 0; bits < values.size(); ++bits) {
    values[bits] = static_cast<float>(decode(format, bits));
  }
  return values;
}

// Made when first needed, once for each format.
template <const FloatFormat& format, class Word>
void look_up(const std::byte* from, std::size_t count, double* to) {
  static const std::vector<float> values = values_of_all(format);
  convert<Word>(from, count, to, [&](Word word) { return value_of_float(values[word]); });
}

}  // namespace

void decode_elements(const FloatFormat& format, const std::byte* from, std::size_t count,
                     double* to) {
  if (count == 0) return;
  if (&format == &binary64) {
    std::memcpy(to, from, count * sizeof(double));
  } else if (&format == &binary32) {
    convert<float>(from, count, to, value_of_float);
  } else if (&format == &bfloat16) {
    convert<std::uint16_t>(from, count, to, value_of_bfloat16);
  } else if (&format == &binary16) {
    look_up<binary16, std::uint16_t>(from, count, to);
  } else if (&format == &float8_e4m3fn) {
    look_up<float8_e4m3fn, std::uint8_t>(from, count, to);
  } else {
    look_up<float8_e5m2, std::uint8_t>(from, count, to);
  }
}

}  // namespace gqa
