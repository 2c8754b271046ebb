#include "gqa/audit/filter/vector_decision.hpp"

#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gqa/audit/filter/vector_decision.cpp"
#include <hwy/foreach_target.h>
// Highway must see every target before its own header.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace gqa {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Products and sums are rounded one by one (-ffp-contract=off keeps the compiler from fusing
// them): the figures of a report shall not depend on the processor.
using Doubles = hn::CappedTag<double, 8>;
using Vector = hn::Vec<Doubles>;
using Mask = hn::Mask<Doubles>;

// rounded_up and rounded_down of interval_decision.hpp.
HWY_INLINE Vector Up(Vector value) {
  const Doubles d;
  constexpr double tiny = 16 * std::numeric_limits<double>::denorm_min();
  return hn::Add(hn::Mul(value, hn::Set(d, 1 + 0x1p-48)), hn::Set(d, tiny));
}
HWY_INLINE Vector Down(Vector value) {
  const Doubles d;
  constexpr double tiny = 16 * std::numeric_limits<double>::denorm_min();
  const Vector lower = hn::Sub(hn::Mul(value, hn::Set(d, 1 - 0x1p-48)), hn::Set(d, tiny));
  return hn::IfThenElseZero(hn::Gt(lower, hn::Zero(d)), lower);
}

// The ulp at a finite magnitude: its power of two is what remains without the significand,
// zero for a subnormal.
struct Ulps {
  Vector factor;
  Vector smallest;

  HWY_INLINE Vector at(Vector magnitude) const {
    const Doubles d;
    const hn::RebindToUnsigned<Doubles> bits;
    const auto exponent = hn::Set(bits, std::uint64_t{0x7ff} << 52);
    const Vector power = hn::BitCast(d, hn::And(hn::BitCast(bits, magnitude), exponent));
    return hn::Max(hn::Mul(power, factor), smallest);
  }
};

struct Elements {
  Vector error_lower;
  Vector error_upper;
  Vector magnitude_lower;
  Vector largest;  // |centre| + radius
  Vector ulp;
  Vector midpoint;  // of the error, in units of AuditTally, not yet rounded
  Mask regular;
};

HWY_INLINE Elements ElementsAt(const RowElements& row, std::size_t c, const Ulps& ulps) {
  const Doubles d;
  const Vector centre = hn::LoadU(d, row.centres + c);
  const Vector magnitude = hn::Abs(centre);
  const Vector bound =
      hn::Add(hn::Mul(hn::Set(d, row.relative), hn::LoadU(d, row.column_maximum + c)),
              hn::Mul(hn::Set(d, 0x1p-53), magnitude));
  const Vector radius = hn::Add(hn::Mul(bound, hn::Set(d, 1 + 0x1p-40)), hn::Set(d, row.underflow));
  const Vector distance = hn::Abs(hn::Sub(hn::LoadU(d, row.outputs + c), centre));
  Elements e;
  e.error_lower = Down(hn::Sub(Down(distance), radius));
  e.error_upper = Up(hn::Add(distance, radius));
  e.magnitude_lower = Down(hn::Sub(magnitude, radius));
  e.largest = hn::Add(magnitude, radius);
  e.ulp = ulps.at(Up(e.largest));
  constexpr double units = 1 / AuditTally::ulp_unit;
  e.midpoint = hn::Mul(hn::Div(distance, e.ulp), hn::Set(d, units));
  // Each comparison is false for NaN.
  e.regular = hn::And(hn::Eq(ulps.at(e.magnitude_lower), e.ulp),
                      hn::And(hn::Ge(e.ulp, hn::Set(d, 0x1p-1000)),
                              hn::Lt(e.midpoint, hn::Set(d, 0x1p18 * units))));
  return e;
}

// The square of what is allowed, rounded down; not a number or zero where nothing surely is.
struct Stated {
  const StatedAllowance& stated;

  HWY_INLINE Vector square_at(const Elements& e, std::size_t /*c*/) const {
    const Doubles d;
    const Vector relative = hn::Mul(hn::Set(d, stated.relative), e.magnitude_lower);
    const Vector in_ulps = hn::Mul(hn::Set(d, stated.ulps), e.ulp);
    const Vector allowed = Down(hn::Add(hn::Add(hn::Set(d, stated.absolute), relative), in_ulps));
    return hn::Mul(allowed, allowed);
  }
  HWY_INLINE Mask allows(const Elements& e, Vector /*square*/, std::size_t /*c*/) const {
    const Doubles d;
    const Vector relative = hn::Mul(hn::Set(d, stated.relative), e.magnitude_lower);
    const Vector in_ulps = hn::Mul(hn::Set(d, stated.ulps), e.ulp);
    const Vector allowed = hn::Add(hn::Add(hn::Set(d, stated.absolute), relative), in_ulps);
    return hn::Le(e.error_upper, Down(allowed));
  }
};

struct Likely {
  const LikelyAllowance& likely;

  HWY_INLINE Vector square_at(const Elements& e, std::size_t c) const {
    const Doubles d;
    const Vector zero = hn::Zero(d);
    const Vector sum = hn::LoadU(d, likely.square_sums + c);
    const Vector slack = hn::Add(hn::Mul(hn::Set(d, likely.squares_relative), sum),
                                 hn::Set(d, likely.squares_absolute));
    const Vector squares = hn::Sub(sum, slack);
    const Vector mean = hn::Mul(hn::Mul(e.largest, e.largest), hn::Set(d, likely.square_weight));
    const Vector half = hn::Mul(squares, hn::Set(d, 0.5));
    const Vector spread = hn::Max(zero, hn::Sub(half, mean));
    const Vector explained = hn::Add(hn::Mul(hn::Set(d, likely.per_square), squares),
                                     hn::Mul(hn::Set(d, likely.per_spread), spread));
    const Vector root = hn::Sqrt(hn::Max(zero, squares));
    const Vector possible = Down(
        hn::Add(hn::Mul(hn::Set(d, likely.worst_per_magnitude), hn::Max(e.magnitude_lower, root)),
                hn::Mul(hn::Set(d, likely.worst_per_output), e.magnitude_lower)));
    // Negative squares explain nothing.
    const Vector spread_root = hn::Sqrt(hn::IfThenElseZero(hn::Gt(explained, zero), explained));
    const Vector likely_bound = Down(hn::Add(
        spread_root,
        hn::IfThenElseZero(hn::Gt(explained, zero),
                           hn::Mul(hn::Set(d, likely.output_roundoff), e.magnitude_lower))));
    // The smaller; where either is not a number nothing is surely allowed.
    const Vector allowed =
        hn::IfThenElse(hn::Le(likely_bound, possible), likely_bound,
                       hn::IfThenElseZero(hn::Gt(likely_bound, possible), possible));
    return hn::Mul(allowed, allowed);
  }
  HWY_INLINE Mask allows(const Elements& e, Vector square, std::size_t /*c*/) const {
    const Doubles d;
    // What is not finite explains nothing; a square that could underflow is for others.
    const Mask usable = hn::And(hn::Le(square, hn::Set(d, std::numeric_limits<double>::max())),
                                hn::Ge(e.error_upper, hn::Set(d, 0x1p-500)));
    return hn::And(usable, hn::Le(hn::Mul(e.error_upper, e.error_upper), square));
  }
};

template <class Allowance>
HWY_INLINE SureElements SurelyWithin(const RowElements& row, const FloatFormat& format,
                                     const Allowance& allowance, double* ulp_errors,
                                     double* shares) {
  const Doubles d;
  const Ulps ulps{hn::Set(d, std::ldexp(1.0, 1 - format.precision)),
                  hn::Set(d, std::ldexp(1.0, static_cast<int>(format.minimum_exponent) -
                                                 format.precision + 1))};
  Vector absolute_lower = hn::Zero(d), absolute_upper = hn::Zero(d);
  Vector ulp_lower = hn::Zero(d), ulp_upper = hn::Zero(d), units = hn::Zero(d);
  Vector largest_share = hn::Zero(d);
  SureElements sure;
  for (std::size_t c = 0; c < row.columns; c += hn::Lanes(d)) {
    const Elements e = ElementsAt(row, c, ulps);
    const Vector square = allowance.square_at(e, c);
    const Mask within =
        hn::And(hn::And(hn::FirstN(d, row.columns - c), e.regular), allowance.allows(e, square, c));
    // An error of nothing takes no share, whatever is allowed.
    const Vector taken = hn::Div(hn::Mul(e.error_upper, e.error_upper), square);
    const Vector share = Up(hn::Sqrt(hn::IfThenElse(
        hn::Gt(square, hn::Zero(d)), taken,
        hn::IfThenElseZero(hn::Gt(e.error_upper, hn::Set(d, 0x1p-1000)), hn::Set(d, 1.0)))));
    const Vector per_ulp = hn::Div(hn::Set(d, 1.0), e.ulp);
    const Vector upper = Up(hn::Mul(e.error_upper, per_ulp));
    const Vector lower = Down(hn::Mul(e.error_lower, per_ulp));
    sure.count += static_cast<std::int64_t>(hn::CountTrue(d, within));
    absolute_lower = hn::Max(absolute_lower, hn::IfThenElseZero(within, e.error_lower));
    absolute_upper = hn::Max(absolute_upper, hn::IfThenElseZero(within, e.error_upper));
    ulp_lower = hn::Max(ulp_lower, hn::IfThenElseZero(within, lower));
    ulp_upper = hn::Max(ulp_upper, hn::IfThenElseZero(within, upper));
    // At most 2^38 each: the sum over most_columns is exact.
    const Vector whole = hn::Floor(hn::Add(e.midpoint, hn::Set(d, 0.5)));
    units = hn::Add(units, hn::IfThenElseZero(within, whole));
    largest_share = hn::Max(largest_share, hn::IfThenElseZero(within, share));
    hn::StoreU(hn::IfThenElse(within, upper, hn::Set(d, not_sure)), d, ulp_errors + c);
    hn::StoreU(share, d, shares + c);
  }
  sure.max_absolute_error = {hn::GetLane(hn::MaxOfLanes(d, absolute_lower)),
                             hn::GetLane(hn::MaxOfLanes(d, absolute_upper))};
  sure.max_ulp_error = {hn::GetLane(hn::MaxOfLanes(d, ulp_lower)),
                        hn::GetLane(hn::MaxOfLanes(d, ulp_upper))};
  sure.max_share = hn::GetLane(hn::MaxOfLanes(d, largest_share));
  sure.ulp_units = static_cast<std::int64_t>(hn::GetLane(hn::SumOfLanes(d, units)));
  return sure;
}

SureElements WithinStated(const RowElements& row, const FloatFormat& format,
                          const StatedAllowance& allowance, double* ulp_errors, double* shares) {
  return SurelyWithin(row, format, Stated{allowance}, ulp_errors, shares);
}
SureElements WithinLikely(const RowElements& row, const FloatFormat& format,
                          const LikelyAllowance& allowance, double* ulp_errors, double* shares) {
  return SurelyWithin(row, format, Likely{allowance}, ulp_errors, shares);
}

}  // namespace HWY_NAMESPACE
}  // namespace gqa
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "gqa/audit/filter/vector_dispatch.hpp"

namespace gqa {

GQA_VECTOR_EXPORT(WithinStated);
GQA_VECTOR_EXPORT(WithinLikely);

SureElements surely_within(const RowElements& row, const FloatFormat& format,
                           const StatedAllowance& allowance, double* ulp_errors, double* shares) {
  return GQA_VECTOR_DISPATCH(WithinStated)(row, format, allowance, ulp_errors, shares);
}
SureElements surely_within(const RowElements& row, const FloatFormat& format,
                           const LikelyAllowance& allowance, double* ulp_errors, double* shares) {
  return GQA_VECTOR_DISPATCH(WithinLikely)(row, format, allowance, ulp_errors, shares);
}

}  // namespace gqa
#endif
