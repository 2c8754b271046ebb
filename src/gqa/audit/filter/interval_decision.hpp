// Decisions on one element in binary64 intervals: the fast lane of the verdict.
//
// Everything here answers only where the answer holds for every number within the stated
// radii; what is open goes on to the enclosures. Each bound is computed in a handful of
// binary64 operations and then widened by a factor that covers their roundings.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "gqa/audit/decide/tolerance.hpp"
#include "gqa/audit/filter/vector_decision.hpp"
#include "gqa/num/float_format.hpp"
#include "gqa/num/uncertain.hpp"

namespace gqa {

/// A non-negative quantity between two binary64 numbers.
struct Interval {
  double lower = 0;
  double upper = 0;
};

/// Widens a computed non-negative value by 2^-48 relative and the smallest numbers absolute:
/// enough for sixteen roundings, underflow included.
inline double rounded_up(double value) {
  return value * (1 + 0x1p-48) + 16 * std::numeric_limits<double>::denorm_min();
}
inline double rounded_down(double value) {
  const double lower = value * (1 - 0x1p-48) - 16 * std::numeric_limits<double>::denorm_min();
  return lower > 0 ? lower : 0;
}

/// |output - reference| for |reference - centre| <= radius. All finite.
inline Interval error_interval(double output, double centre, double radius) {
  // The distance is rounded before the radius is taken off it: where both nearly cancel,
  // that rounding is not small against the difference, so it is widened on its own.
  // A distance beyond the largest number is certainly more than that number.
  const double distance = std::abs(output - centre);
  const double least = std::min(distance, std::numeric_limits<double>::max());
  return {rounded_down(rounded_down(least) - radius), rounded_up(distance + radius)};
}

/// |reference| for |reference - centre| <= radius.
inline Interval magnitude_interval(double centre, double radius) {
  const double magnitude = std::abs(centre);
  return {rounded_down(magnitude - radius), rounded_up(magnitude + radius)};
}

/// 2^exponent for exponents that binary64 can hold, subnormals included.
inline double power_of_two_double(int exponent) {
  if (exponent < -1022) return std::ldexp(1.0, exponent);
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

/// Ulps of a format at magnitudes, as powers of two.
class UlpTable {
 public:
  explicit UlpTable(const FloatFormat& format)
      : precision_(format.precision), smallest_(format.minimum_exponent - format.precision + 1) {}

  /// Exponent of the ulp at a finite `magnitude` >= 0.
  int exponent(double magnitude) const {
    // Below the normal range of binary64 this is -1023: at most the smallest of any format.
    const auto biased = static_cast<int>(std::bit_cast<std::uint64_t>(magnitude) >> 52);
    const int binade = biased - 1023 - precision_ + 1;
    return binade > smallest_ ? binade : smallest_;
  }
  /// Ulps at both ends of an interval of magnitudes.
  Interval ulps(const Interval& magnitude) const {
    const int least = exponent(magnitude.lower);
    const int most = exponent(magnitude.upper);
    const double upper = power_of_two_double(most);
    return {least == most ? upper : power_of_two_double(least), upper};
  }

 private:
  int precision_;
  int smallest_;
};

/// error <= allowed?
inline Uncertain within(const Interval& error, const Interval& allowed) {
  if (error.upper <= allowed.lower) return Uncertain::yes();
  if (error.lower > allowed.upper) return Uncertain::no();
  return Uncertain::unknown();
}

/// An error in ulps, which are powers of two.
inline Bounds in_ulps(const Interval& error, const Interval& ulps) {
  return {rounded_down(error.lower / ulps.upper), rounded_up(error.upper / ulps.lower)};
}

/// An element whose reference is within `radius` of `centre`, as one of the worst is kept.
inline WorstElement measured_element(const std::array<std::int64_t, 4>& index, double output,
                                     double centre, double radius, const Interval& error,
                                     const Bounds& ulp_error, const Interval& allowed,
                                     Uncertain within) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return {index,
          output,
          {std::nextafter(centre - radius, -infinity), std::nextafter(centre + radius, infinity)},
          {error.lower, error.upper},
          ulp_error,
          {allowed.lower, allowed.upper},
          within};
}

/// A stated tolerance in binary64, rounded outwards once for all elements.
class StatedTolerance {
 public:
  /// Precondition: not a ModelTolerance.
  explicit StatedTolerance(const Tolerance& tolerance);

  /// The allowed error for a reference of that magnitude, `ulps` from UlpTable.
  Interval allowed(const Interval& magnitude, const Interval& ulps) const {
    return {
        rounded_down(absolute_.lower + relative_.lower * magnitude.lower +
                     ulps_.lower * ulps.lower),
        rounded_up(absolute_.upper + relative_.upper * magnitude.upper + ulps_.upper * ulps.upper)};
  }
  /// The lower ends, for all elements of a row at once.
  StatedAllowance sure_allowance() const { return {absolute_.lower, relative_.lower, ulps_.lower}; }

 private:
  Interval absolute_;
  Interval relative_;
  Interval ulps_;
};

}  // namespace gqa
