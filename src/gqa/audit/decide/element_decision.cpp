#include "gqa/audit/decide/element_decision.hpp"

#include <cmath>
#include <optional>

namespace gqa {
namespace {

Ball ulp_ball(long exponent) {
  Ball result(1);
  arb_mul_2exp_si(result.get(), result.get(), exponent);
  return result;
}

// Does every number of the ball round to this infinity?
Uncertain rounds_to_infinity(double output, const FloatFormat& format, const Ball& reference) {
  const auto bits = round_to_nearest_even(format, reference);
  if (!bits) return Uncertain::unknown();
  return Uncertain::from(decode(format, *bits) == output);
}

ElementDecision proved_unless(Uncertain within) {
  return {within, within.certainly_not() ? FailureStrength::proved : FailureStrength::none};
}

// The largest finite number, or what a conversion makes of a number beyond it: infinity, or NaN in
// a format that has none.
bool is_overflow(double output, const FloatFormat& format) {
  if (std::isnan(output)) return !format.has_infinity;
  return std::abs(output) >= format.maximum();
}

// Of a number that rounds beyond the largest finite one, saturating conversions make that, others
// infinity or NaN; both are in use. `allowed`: how far the number may have been from `reference`.
Uncertain may_overflow(double output, const FloatFormat& format, const Ball& reference,
                       const Ball& allowed) {
  if (!std::isnan(output) &&
      less(std::signbit(output) ? reference : -reference, Ball(0)).certainly_not()) {
    return Uncertain::no();  // the other sign
  }
  const double half_ulp = std::ldexp(1.0, format.maximum_exponent - format.precision);
  return less_equal(Ball(format.maximum()) + Ball(half_ulp), abs(reference) + allowed);
}

struct Decide {
  double output;
  const FloatFormat& format;
  const Ball& reference;
  const RoundingBounds* bounds;

  ElementDecision operator()(const AbsoluteRelativeTolerance& t) const {
    const Ball allowed = Ball(t.absolute) + Ball(t.relative) * abs(reference);
    return proved_unless(less_equal(absolute_error(output, reference), allowed));
  }

  ElementDecision operator()(const UlpTolerance& t) const {
    // The binade of the exact value decides; where two are possible both must agree.
    const UlpExponents exponents = ulp_exponents(format, reference);
    const Ball error = absolute_error(output, reference);
    const Uncertain small = less_equal(error, Ball(t.ulps) * ulp_ball(exponents.smallest));
    const Uncertain large = less_equal(error, Ball(t.ulps) * ulp_ball(exponents.largest));
    return proved_unless(small == large ? small : Uncertain::unknown());
  }

  // Within what is likely and possible; a worst case that is not finite excludes nothing.
  ElementDecision operator()(const ModelTolerance& t) const {
    if (bounds == nullptr) return {};
    const Ball error = absolute_error(output, reference);
    std::optional<Uncertain> possible;
    if (bounds->worst.is_finite()) possible = less_equal(error, bounds->worst);
    return by_bounds(less_equal(error, bounds->likely), possible, t.accept_worst_case);
  }
};

// What is not a finite number, or may stand for what is beyond the largest one.
std::optional<ElementDecision> decide_overflow(double output, const FloatFormat& format,
                                               const Ball& reference, const Tolerance& tolerance,
                                               const RoundingBounds* bounds) {
  const auto* model = std::get_if<ModelTolerance>(&tolerance);
  if (!is_overflow(output, format)) {
    if (std::isnan(output)) return proved_unless(Uncertain::no());
    return std::nullopt;
  }
  if (model != nullptr && bounds != nullptr) {
    const Uncertain likely = may_overflow(output, format, reference, bounds->allowance());
    const Uncertain possible =
        bounds->worst.is_finite() ? may_overflow(output, format, reference, bounds->worst) : likely;
    const ElementDecision decision = by_bounds(likely, possible, model->accept_worst_case);
    // The largest finite number may also be meant as such.
    if (std::isfinite(output) && !decision.within.certainly()) return std::nullopt;
    return decision;
  }
  if (std::isfinite(output)) return std::nullopt;
  if (std::isnan(output)) return proved_unless(may_overflow(output, format, reference, Ball(0)));
  return proved_unless(rounds_to_infinity(output, format, reference));
}

}  // namespace

ElementDecision by_bounds(Uncertain likely, std::optional<Uncertain> possible,
                          bool accept_worst_case) {
  if (possible && possible->certainly_not()) return {Uncertain::no(), FailureStrength::proved};
  if (accept_worst_case) {
    const Uncertain unbounded = likely.certainly() ? likely : Uncertain::unknown();
    return {possible.value_or(unbounded), FailureStrength::none};
  }
  if (likely.certainly_not()) return {Uncertain::no(), FailureStrength::statistical};
  return {likely & possible.value_or(Uncertain::yes()), FailureStrength::none};
}

Ball allowance_of(const FloatFormat& format, const Ball& reference, const Tolerance& tolerance,
                  const RoundingBounds* bounds) {
  if (const auto* model = std::get_if<ModelTolerance>(&tolerance)) {
    if (bounds == nullptr) return Ball(1) / Ball(0);
    return model->accept_worst_case ? bounds->worst : bounds->allowance();
  }
  if (const auto* stated = std::get_if<AbsoluteRelativeTolerance>(&tolerance)) {
    return Ball(stated->absolute) + Ball(stated->relative) * abs(reference);
  }
  const UlpExponents exponents = ulp_exponents(format, reference);
  return Ball(std::get<UlpTolerance>(tolerance).ulps) *
         Ball::hull(ulp_ball(exponents.smallest), ulp_ball(exponents.largest));
}

Ball absolute_error(double output, const Ball& reference) {
  return abs(Ball(output) - reference);
}

Ball ulp_error(double output, const FloatFormat& format, const Ball& reference) {
  const UlpExponents exponents = ulp_exponents(format, reference);
  const Ball error = absolute_error(output, reference);
  const Ball at_smallest = error / ulp_ball(exponents.smallest);
  if (exponents.smallest == exponents.largest) return at_smallest;
  return Ball::hull(error / ulp_ball(exponents.largest), at_smallest);
}

ElementDecision decide(double output, const FloatFormat& format, const Ball& reference,
                       const Tolerance& tolerance, const RoundingBounds* bounds) {
  if (!reference.is_finite()) return {};
  if (const auto overflow = decide_overflow(output, format, reference, tolerance, bounds)) {
    return *overflow;
  }
  return std::visit(Decide{output, format, reference, bounds}, tolerance);
}

ElementDecision decide_exactly(double output, const FloatFormat& format, const Rational& reference,
                               const Tolerance& tolerance, const RoundingBounds* bounds) {
  if (std::isinf(output)) {
    const double rounded = decode(format, round_to_nearest_even(format, reference));
    return proved_unless(Uncertain::from(rounded == output));
  }
  if (std::isnan(output) || std::holds_alternative<ModelTolerance>(tolerance)) {
    return decide(output, format, Ball(reference), tolerance, bounds);
  }
  const Rational error = abs(Rational(Rational(output) - reference));
  Rational allowed;
  if (const auto* stated = std::get_if<AbsoluteRelativeTolerance>(&tolerance)) {
    allowed = stated->absolute + stated->relative * abs(reference);
  } else {
    allowed = std::get<UlpTolerance>(tolerance).ulps * ulp(format, reference);
  }
  return proved_unless(Uncertain::from(error <= allowed));
}

}  // namespace gqa
