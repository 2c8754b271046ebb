#include "gqa/audit/gradients/gradient_element.hpp"

#include <cmath>

namespace gqa {

std::optional<GradientElement> gradient_element(const GradientPart& part, const UlpTable& ulps,
                                                std::size_t r, std::size_t c,
                                                const std::array<std::int64_t, 4>& at,
                                                double value) {
  GradientElement e{at, r, c, value, part.value(r, c), part.radius(r, c), {}, {}, {}};
  if (!std::isfinite(e.value) || !std::isfinite(e.centre) || !std::isfinite(e.radius)) {
    return std::nullopt;
  }
  e.magnitude = magnitude_interval(e.centre, e.radius);
  e.ulp = ulps.ulps(e.magnitude);
  if (e.ulp.upper > 2 * e.ulp.lower) return std::nullopt;
  e.error = error_interval(e.value, e.centre, e.radius);
  return e;
}

ElementDecision decide(const GradientBounds::Element& bounds, const Interval& error,
                       bool accept_worst_case) {
  if (!bounds.is_known) return {};
  const Uncertain likely = within(error, bounds.likely);
  if (likely.certainly()) return {likely, FailureStrength::none};
  const Uncertain possible = bounds.is_bounded ? within(error, bounds.worst) : Uncertain::yes();
  const bool proved = likely.certainly_not() && possible.certainly_not();
  if (proved) return {likely, FailureStrength::proved};
  if (accept_worst_case) {
    const bool explained = bounds.is_bounded && possible.certainly();
    return explained ? ElementDecision{possible, FailureStrength::none} : ElementDecision{};
  }
  if (!likely.is_decided() || !possible.is_decided()) return {};
  return {likely, FailureStrength::statistical};
}

}  // namespace gqa
