#include "gqa/audit/enclose/audited_element.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gqa {
namespace {

void state_reference(AuditedElement& element, const Ball& reference) {
  element.reference = {reference.lower_double(), reference.upper_double()};
  if (reference.is_finite()) element.ball = reference;
}

void measure(AuditTally& tally, const AuditedElement& element, std::int64_t place,
             WorstElement& worst) {
  if (!element.ball || !std::isfinite(element.output)) return;
  const Ball error = absolute_error(element.output, *element.ball);
  const Ball ulps = ulp_error(element.output, *element.format, *element.ball);
  worst.absolute_error = {error.lower_double(), error.upper_double()};
  worst.ulp_error = {ulps.lower_double(), ulps.upper_double()};
  tally.add_errors(worst.absolute_error, worst.ulp_error, ulps.midpoint_double());
  tally.error_map.add_error(place, element.index[2], worst.ulp_error.upper);
}

void state_allowed(AuditedElement& element, const Ball& reference, const Tolerance& tolerance,
                   const RoundingBounds* bounds) {
  if (!reference.is_finite()) return;
  if (std::holds_alternative<ModelTolerance>(tolerance) && bounds != nullptr) {
    element.bounds = *bounds;
  }
  const Ball allowed = allowance_of(*element.format, reference, tolerance, bounds);
  element.allowed = {0, std::numeric_limits<double>::infinity()};
  if (allowed.is_finite()) {
    element.allowed = {std::max(0.0, allowed.lower_double()), allowed.upper_double()};
  }
}

// Or there is none, or the reference itself is not known yet.
bool worst_is_bounded(const Enclosed& enclosed) {
  return !enclosed.bounds || !enclosed.reference.is_finite() || enclosed.bounds->worst.is_finite();
}

}  // namespace

void settle(AuditedElement& element, const Enclosed& first, const ReferenceSource& source,
            const AuditOptions& options) {
  const auto decide_by = [&](const Enclosed& enclosed) {
    state_reference(element, enclosed.reference);
    const RoundingBounds* bounds = enclosed.bounds ? &*enclosed.bounds : nullptr;
    element.decision =
        decide(element.output, *element.format, enclosed.reference, options.tolerance, bounds);
    state_allowed(element, enclosed.reference, options.tolerance, bounds);
  };
  decide_by(first);
  if (element.decision.within.is_decided()) return;
  if (const auto exact = source.exact()) {
    state_reference(element, Ball(*exact));
    element.decision = decide_exactly(element.output, *element.format, *exact, options.tolerance,
                                      first.bounds ? &*first.bounds : nullptr);
    element.exactly = element.decision.within.is_decided();
  }
  // A worst case that the model does not bound is not bounded with more bits either; one more try,
  // in case it was the bits.
  bool is_bounded = worst_is_bounded(first);
  for (long bits = 2 * options.first_precision;
       !element.decision.within.is_decided() && bits <= options.largest_precision; bits *= 2) {
    const PrecisionScope precision(bits);
    const Enclosed enclosed = source.enclose();
    decide_by(enclosed);
    const bool was_bounded = std::exchange(is_bounded, worst_is_bounded(enclosed));
    if (!was_bounded && !is_bounded) return;
  }
}

void settle_exactly(AuditedElement& element, const Rational& reference, const AuditOptions& options,
                    const RoundingBounds& bounds) {
  state_reference(element, Ball(reference));
  element.decision =
      decide_exactly(element.output, *element.format, reference, options.tolerance, &bounds);
  state_allowed(element, Ball(reference), options.tolerance, &bounds);
  element.exactly = true;
}

void demand(AuditedElement& element, double demanded) {
  const bool right = std::isnan(demanded) ? std::isnan(element.output) : element.output == demanded;
  element.decision.within = Uncertain::from(right);
  element.decision.strength = right ? FailureStrength::none : FailureStrength::proved;
  element.exactly = true;
  element.demanded = demanded;
  element.allowed = {0, 0};
  element.reference = {demanded, demanded};
}

void accept_anything(AuditedElement& element) {
  element.decision = {Uncertain::yes(), FailureStrength::none};
  element.is_free = true;
  element.exactly = true;
}

void add_element(AuditTally& tally, const AuditedElement& element, std::int64_t place,
                 NullRow& nulls) {
  ++tally.elements;
  WorstElement worst;
  worst.index = element.index;
  worst.output = element.output;
  worst.within = element.decision.within;
  worst.reference = element.reference;
  worst.allowed = element.allowed;
  if (element.decision.within.certainly_not()) {
    tally.add_violation(place, element.index[2], element.index[3]);
    if (element.decision.strength == FailureStrength::proved) ++tally.proved_violations;
  }
  if (!element.decision.within.is_decided()) {
    ++tally.undecided;
  } else if (element.exactly) {
    ++tally.decided_exactly;
  } else if (element.by_filter) {
    ++tally.decided_by_filter;
  } else {
    ++tally.decided_by_enclosure;
  }
  measure(tally, element, place, worst);
  if (element.ball) {
    nulls.add(std::max(0.0, abs(*element.ball).lower_double()), element.allowed.upper);
  }
  if (element.decision.within.certainly()) {
    tally.max_share = std::max(tally.max_share, worst.share());
  }
  if (!element.decision.within.certainly() || worst.ulp_error.upper > 0) tally.add_worst(worst);
}

}  // namespace gqa
