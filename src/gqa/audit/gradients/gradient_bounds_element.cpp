// The bounds of single elements from how far they move.
#include <algorithm>
#include <cmath>

#include "gqa/audit/gradients/gradient_bounds.hpp"

namespace gqa {
namespace {

Interval widened(const Interval& interval, double by) {
  return {rounded_down(rounded_down(interval.lower) - by), rounded_up(interval.upper + by)};
}

}  // namespace

GradientBounds::Element GradientBounds::element(GradientKind kind, std::size_t r, std::size_t c,
                                                double radius, const Interval& magnitude) const {
  const Moved& moved = moved_[static_cast<std::size_t>(kind)];
  const GradientFinish& finish = moved.finish;
  const double likely = moved.likely[r * moved.width + c];
  Element element;
  element.is_bounded = moved.unbounded[r] == 0;
  element.likely = widened({recorded_likely(likely, magnitude.lower, finish) * (1 - 1e-3),
                            recorded_likely(likely, magnitude.upper, finish) * (1 + 1e-3)},
                           radius);
  element.is_known = radius <= 0x1p-2 * element.likely.upper && std::isfinite(element.likely.upper);
  if (!element.is_bounded) return element;
  const double worst = moved.worst[r * moved.width + c];
  const auto recorded = [&](double by, double size) {
    return recorded_worst(by, size, finish.roundoff, finish.underflow);
  };
  element.worst = widened({recorded(worst * (1 - 0x1p-12), magnitude.lower),
                           recorded(worst * (1 + 0x1p-12), magnitude.upper)},
                          radius);
  element.is_known = element.is_known && std::isfinite(element.worst.upper) &&
                     radius <= 0x1p-2 * element.worst.upper;
  element.likely.lower = std::min(element.likely.lower, element.worst.lower);
  element.likely.upper = std::min(element.likely.upper, element.worst.upper);
  return element;
}

}  // namespace gqa
