// The decision on one element, from enclosures alone.
#pragma once

#include <cstdint>
#include <optional>

#include "gqa/audit/decide/tolerance.hpp"
#include "gqa/num/ball.hpp"
#include "gqa/num/float_format.hpp"
#include "gqa/num/uncertain.hpp"

namespace gqa {

/// How a violation is known: `proved` is a theorem about the stated tolerance or the
/// model's worst case; `statistical` is beyond what independent roundings make likely.
enum class FailureStrength { none, statistical, proved };

/// The answer on one element.
struct ElementDecision {
  Uncertain within = Uncertain::unknown();
  FailureStrength strength = FailureStrength::none;
};

/// The answer of a model: within is what is likely and possible; beyond what is possible is proved.
/// nullopt: the worst case bounds nothing, so that all is possible. `accept_worst_case`: what is
/// possible is enough, but nothing passes by a bound that is not there.
ElementDecision by_bounds(Uncertain likely, std::optional<Uncertain> possible,
                          bool accept_worst_case);

/// Is the output within the tolerance of the reference?
///
/// `output` is the exact value of the element's bits in `format`. Under a stated tolerance an
/// infinity (NaN, in a format without infinities) is within only if the reference certainly rounds
/// to it; under a model also if it may have been rounded so far, and the largest finite number then
/// stands for what is beyond it, since saturating conversions are in use as well. Any other NaN is
/// never within. `reference` encloses the exact value. `bounds` are used by a ModelTolerance and
/// otherwise null.
///
/// Result: a decided answer holds for every number in the reference's ball.
ElementDecision decide(double output, const FloatFormat& format, const Ball& reference,
                       const Tolerance& tolerance, const RoundingBounds* bounds);

/// The same for a reference that is known to be this rational number: never open for a
/// stated tolerance. Ties count as within (<=).
ElementDecision decide_exactly(double output, const FloatFormat& format, const Rational& reference,
                               const Tolerance& tolerance, const RoundingBounds* bounds);

/// What an element with that reference may be off by: the tolerance, or of a model the smaller of
/// both bounds (the worst case, where that is accepted). Not finite if nothing bounds it.
Ball allowance_of(const FloatFormat& format, const Ball& reference, const Tolerance& tolerance,
                  const RoundingBounds* bounds);

/// Enclosure of |output - reference|. Precondition: output is finite.
Ball absolute_error(double output, const Ball& reference);

/// Enclosure of the error in ulps of the reference's binade in `format`, both binades
/// covered where the reference straddles two. Precondition: both finite.
Ball ulp_error(double output, const FloatFormat& format, const Ball& reference);

}  // namespace gqa
