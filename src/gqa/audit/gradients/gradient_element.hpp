// Single elements of gradients in binary64 intervals, and the decision on them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "gqa/audit/decide/element_decision.hpp"
#include "gqa/audit/filter/interval_decision.hpp"
#include "gqa/audit/gradients/gradient_bounds.hpp"
#include "gqa/audit/gradients/gradient_filter.hpp"

namespace gqa {

/// A recorded element beside what rung 1 knows of it.
struct GradientElement {
  std::array<std::int64_t, 4> at{};  ///< in the recorded tensor
  std::size_t r = 0, c = 0;          ///< in the part
  double value = 0;                  ///< recorded
  double centre = 0;
  double radius = 0;
  Interval magnitude;
  Interval ulp;
  Interval error;
};

/// nullopt: something is not finite, or an error in ulp would say nothing.
std::optional<GradientElement> gradient_element(const GradientPart& part, const UlpTable& ulps,
                                                std::size_t r, std::size_t c,
                                                const std::array<std::int64_t, 4>& at,
                                                double value);

/// As decide() of element_decision.hpp.
ElementDecision decide(const GradientBounds::Element& bounds, const Interval& error,
                       bool accept_worst_case);

}  // namespace gqa
