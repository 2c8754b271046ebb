#include "gqa/audit/gradients/gradient_bound.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gqa/num/roundoff.hpp"

namespace gqa {
double summation_error(std::int64_t depth) {
  return gamma(static_cast<double>(depth) + 2);
}

GradientDelta gradient_delta(const FilterTile& tile, std::size_t r, const double* grad,
                             double grad_lse) {
  GradientDelta delta;
  double magnitudes = 0;
  for (std::int64_t c = 0; c < tile.columns; ++c) {
    const double g = grad[static_cast<std::size_t>(c)];
    const double output = tile.output(r, c);
    delta.of_output += g * output;
    magnitudes += std::abs(g * output);
    delta.error += std::abs(g) * tile.radius(r, c);
  }
  const double n = static_cast<double>(tile.columns);
  delta.value = delta.of_output - grad_lse;
  if (grad_lse != 0) {
    delta.error += 2 * unit_roundoff64 * (std::abs(delta.of_output) + std::abs(grad_lse));
  }
  delta.error = (delta.error + summation_error(tile.columns) * magnitudes) *
                    (1 + 8 * (n + 8) * unit_roundoff64) +
                n * 0x1p-1070;
  return delta;
}

GradientRowBound gradient_row_bound(const ScoreConstants& constants, const FilterRow& row,
                                    std::int64_t value_size, double delta_error, double grad_norm,
                                    double value_norm) {
  GradientRowBound bound;
  double theta = row.score_radius + row.lse_radius + 800 * unit_roundoff64;
  if (constants.has_bias) {
    theta += 2 * unit_roundoff64 * (900 + std::log(1 + static_cast<double>(row.visible)));
  }
  theta *= roundoff_safety;
  if (!(theta <= 0x1p-20)) return bound;
  bound.weight = (theta + 8 * unit_roundoff64) * (1 + 2 * theta) * roundoff_safety;
  const double difference =
      delta_error + summation_error(value_size) * grad_norm * value_norm + 0x1p-1050;
  bound.difference = difference * (1 + bound.weight) * roundoff_safety;
  double slope = 0;
  if (constants.softcap > 0) {
    slope =
        2 * (row.score_radius / constants.softcap + constants.softcap_error) + 8 * unit_roundoff64;
  }
  bound.product = (bound.weight + slope + 6 * unit_roundoff64) * roundoff_safety;
  bound.usable = std::isfinite(bound.difference) && std::isfinite(bound.product);
  return bound;
}

}  // namespace gqa
