#include "gqa/audit/verdict.hpp"

#include <cmath>

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

  ElementDecision operator()(const ModelTolerance& t) const {
    if (bounds == nullptr) return {};
    const Ball error = absolute_error(output, reference);
    const Uncertain likely = less_equal(error, bounds->likely);
    if (likely.certainly()) return {Uncertain::yes(), FailureStrength::none};
    const Uncertain possible = less_equal(error, bounds->worst);
    if (likely.certainly_not() && possible.certainly_not()) {
      return {Uncertain::no(), FailureStrength::proved};
    }
    if (t.accept_worst_case) return {likely | possible, FailureStrength::none};
    if (likely.certainly_not()) return {Uncertain::no(), FailureStrength::statistical};
    return {};
  }
};

}  // namespace

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
  if (std::isnan(output)) return {Uncertain::no(), FailureStrength::proved};
  if (std::isinf(output)) return proved_unless(rounds_to_infinity(output, format, reference));
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
