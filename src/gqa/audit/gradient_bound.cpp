#include "gqa/audit/gradient_bound.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gqa {
namespace {

constexpr double u = 0x1p-53;
constexpr double safety = 1 + 0x1p-40;

}  // namespace

double summation_error(std::int64_t depth) {
  const double n = static_cast<double>(depth) + 2;
  return n * u < 0.25 ? n * u / (1 - n * u) * safety : std::numeric_limits<double>::infinity();
}

GradientDelta gradient_delta(const FilterTile& tile, std::size_t r, const double* grad) {
  GradientDelta delta;
  double magnitudes = 0;
  for (std::int64_t c = 0; c < tile.columns; ++c) {
    const double g = grad[static_cast<std::size_t>(c)];
    const double output = tile.output(r, c);
    delta.value += g * output;
    magnitudes += std::abs(g * output);
    delta.error += std::abs(g) * tile.radius(r, c);
  }
  const double n = static_cast<double>(tile.columns);
  delta.error = (delta.error + summation_error(tile.columns) * magnitudes) * (1 + 8 * (n + 8) * u) +
                n * 0x1p-1070;
  return delta;
}

GradientRowBound gradient_row_bound(const ScoreConstants& constants, const FilterRow& row,
                                    std::int64_t value_size, double delta_error, double grad_norm,
                                    double value_norm) {
  GradientRowBound bound;
  double theta = row.score_radius + row.lse_radius + 800 * u;
  if (constants.has_bias) {
    theta += 2 * u * (900 + std::log(1 + static_cast<double>(row.visible)));
  }
  theta *= safety;
  if (!(theta <= 0x1p-20)) return bound;
  bound.weight = (theta + 8 * u) * (1 + 2 * theta) * safety;
  const double difference =
      delta_error + summation_error(value_size) * grad_norm * value_norm + 0x1p-1050;
  bound.difference = difference * (1 + bound.weight) * safety;
  double slope = 0;
  if (constants.softcap > 0) {
    slope = 2 * (row.score_radius / constants.softcap + constants.softcap_error) + 8 * u;
  }
  bound.product = (bound.weight + slope + 6 * u) * safety;
  bound.usable = std::isfinite(bound.difference) && std::isfinite(bound.product);
  return bound;
}

}  // namespace gqa
