// The fast lane of a tile's rows: all elements of a row at once.
//
// Nearly every element of a healthy output is well within its tolerance. Those are found and
// counted in vectors; whatever is not surely within goes on, one element at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gqa/audit/decide/tally.hpp"
#include "gqa/num/float_format.hpp"

namespace gqa {

/// One row against its reference. The arrays are readable up to the next multiple of
/// vector_padding. |centres[c] - exact| <= FilterTile::radius, from the other three.
struct RowElements {
  const double* outputs;
  const double* centres;
  const double* column_maximum;
  std::size_t columns;
  double relative;
  double underflow;
};

/// Surely within: error <= absolute + relative * magnitude + ulps * ulp, all rounded down.
struct StatedAllowance {
  double absolute;
  double relative;
  double ulps;
};

/// Surely within the likely bound:
///   error <= sqrt(per_square * q + per_spread * max(0, q/2 - O^2 b^2)) + output_roundoff * o
/// with q = square_sums[c] less their error, o and O the smallest and largest magnitude of the
/// reference and b^2 = square_weight. A factor of 1 - 10^-3 within the first two and the last
/// covers all roundings. And surely within the worst case: error <= worst_per_magnitude * max(o,
/// sqrt(q)) + worst_per_output * o, since sum w |v| is at least the former.
struct LikelyAllowance {
  const double* square_sums;
  double squares_relative;
  double squares_absolute;
  double per_square;
  double per_spread;
  double square_weight;
  double output_roundoff;
  double worst_per_magnitude;
  double worst_per_output;
};

/// The elements of a row that are surely within, in figures.
struct SureElements {
  std::int64_t count = 0;
  Bounds max_absolute_error;
  Bounds max_ulp_error;
  double max_share = 0;        ///< of error over allowance, at most
  std::int64_t ulp_units = 0;  ///< sum of AuditTally::units_of(their midpoints)
};

/// Marks what is not surely within in ulp_errors.
inline constexpr double not_sure = -1;
/// Up to here the sum of units of a row is exact in binary64.
inline constexpr std::size_t most_columns = std::size_t{1} << 15;

/// ulp_errors[c], c < columns: an upper bound of the error in ulps of an element that is surely
/// within, or not_sure; shares[c]: of its error over its allowance. Room for columns rounded up to
/// vector_padding. An element is left to
/// others, too, if its ulp is not certain or below 2^-1000, or its error is beyond 2^18 ulp.
/// Precondition: at most most_columns columns.
/// The intervals are those of interval_decision.hpp, bit for bit.
SureElements surely_within(const RowElements& row, const FloatFormat& format,
                           const StatedAllowance& allowance, double* ulp_errors, double* shares);
SureElements surely_within(const RowElements& row, const FloatFormat& format,
                           const LikelyAllowance& allowance, double* ulp_errors, double* shares);

}  // namespace gqa
