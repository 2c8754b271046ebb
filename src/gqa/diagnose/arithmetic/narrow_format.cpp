#include "gqa/diagnose/arithmetic/narrow_format.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace gqa {
namespace {

struct NarrowLimits {
  std::string_view name;
  int precision;
  int minimum_exponent;
  double maximum;
  bool saturates;
};

// TF32: NVIDIA A100 whitepaper (2020); the 8-bit formats: OCP 8-bit Floating Point 1.0.
NarrowLimits limits_of(NarrowFormat format) {
  switch (format) {
    case NarrowFormat::binary32:
      return {"binary32", 24, -126, 0x1.fffffep127, false};
    case NarrowFormat::tf32:
      return {"TF32", 11, -126, 0x1.ffcp127, false};
    case NarrowFormat::binary16:
      return {"binary16", 11, -14, 65504, false};
    case NarrowFormat::bfloat16:
      return {"bfloat16", 8, -126, 0x1.fep127, false};
    case NarrowFormat::float8_e4m3fn:
      return {"float8_e4m3fn", 4, -6, 448, true};
    case NarrowFormat::float8_e5m2:
      break;
  }
  return {"float8_e5m2", 3, -14, 57344, true};
}

// The sum rounded to odd: a later rounding to at most 51 bits is then the rounding of the exact sum
// (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", IEEE Trans. Comput. 2008).
double sum_to_odd(double a, double b) {
  const double sum = a + b;
  if (!std::isfinite(sum)) return sum;
  const double part = sum - a;
  const double error = (a - (sum - part)) + (b - part);
  auto bits = std::bit_cast<std::int64_t>(sum);
  if (error == 0 || (bits & 1) != 0) return sum;
  bits += (error > 0) == (sum > 0) ? 1 : -1;
  return std::bit_cast<double>(bits);
}

}  // namespace

std::string_view name(NarrowFormat format) {
  return limits_of(format).name;
}
int precision_of(NarrowFormat format) {
  return limits_of(format).precision;
}

NarrowFormat narrow_format(ElementType type) {
  switch (type) {
    case ElementType::binary16:
      return NarrowFormat::binary16;
    case ElementType::bfloat16:
      return NarrowFormat::bfloat16;
    case ElementType::float8_e4m3fn:
      return NarrowFormat::float8_e4m3fn;
    case ElementType::float8_e5m2:
      return NarrowFormat::float8_e5m2;
    default:
      return NarrowFormat::binary32;
  }
}

double rounded(double value, NarrowFormat format, SumRounding rounding) {
  if (!std::isfinite(value) || value == 0) return value;
  const NarrowLimits limits = limits_of(format);
  const int exponent = std::ilogb(value) + 1;
  const int unit =
      std::max(exponent - limits.precision, limits.minimum_exponent - limits.precision + 1);
  const double scaled = std::ldexp(value, -unit);
  const double integer =
      rounding == SumRounding::toward_zero ? std::trunc(scaled) : std::nearbyint(scaled);
  const double result = std::ldexp(integer, unit);
  if (std::fabs(result) <= limits.maximum) return result;
  const bool keeps_finite = limits.saturates || rounding == SumRounding::toward_zero;
  return std::copysign(keeps_finite ? limits.maximum : std::numeric_limits<double>::infinity(),
                       value);
}

double rounded(double value, NarrowFormat format) {
  return rounded(value, format, SumRounding::to_nearest);
}

double rounded_sum(double a, double b, NarrowFormat format, SumRounding rounding) {
  return rounded(sum_to_odd(a, b), format, rounding);
}

}  // namespace gqa
