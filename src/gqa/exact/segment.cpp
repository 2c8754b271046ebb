#include "gqa/exact/segment.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gqa/error.hpp"

namespace gqa {
namespace {

using Row = std::vector<Rational>;

// The equations sum w_j v_j = point (one per coordinate) and sum w_j = 1, each a row of
// coefficients followed by its right-hand side.
std::vector<Row> affine_equations(MatrixView<const Rational> values,
                                  std::span<const Rational> point) {
  std::vector<Row> equations;
  for (std::size_t c = 0; c < values.columns(); ++c) {
    Row row;
    for (std::size_t j = 0; j < values.rows(); ++j) row.push_back(values(j, c));
    row.push_back(point[c]);
    equations.push_back(std::move(row));
  }
  equations.emplace_back(values.rows() + 1, Rational(1));
  return equations;
}

// Gauss-Jordan elimination on the first `unknowns` columns; returns the rank.
std::size_t reduce(std::vector<Row>& equations, std::size_t unknowns) {
  std::size_t rank = 0;
  for (std::size_t column = 0; column < unknowns && rank < equations.size(); ++column) {
    std::size_t pivot = rank;
    while (pivot < equations.size() && equations[pivot][column] == 0) ++pivot;
    if (pivot == equations.size()) continue;
    std::swap(equations[pivot], equations[rank]);
    const Rational divisor = equations[rank][column];
    for (Rational& entry : equations[rank]) entry /= divisor;
    for (std::size_t r = 0; r < equations.size(); ++r) {
      if (r == rank || equations[r][column] == 0) continue;
      const Rational factor = equations[r][column];
      for (std::size_t c = 0; c < equations[r].size(); ++c) {
        equations[r][c] -= factor * equations[rank][c];
      }
    }
    ++rank;
  }
  return rank;
}

}  // namespace

std::optional<Rational> line_weight(std::span<const Rational> first,
                                    std::span<const Rational> second,
                                    std::span<const Rational> point) {
  if (first.empty() || first.size() != second.size() || first.size() != point.size()) {
    throw InputError("segment.shape", "segment",
                     "both values and the point need the same size of at least 1");
  }
  // point - second = w (first - second), coordinate by coordinate.
  std::optional<Rational> weight;
  for (std::size_t c = 0; c < first.size(); ++c) {
    if (first[c] == second[c]) continue;
    const Rational here = (point[c] - second[c]) / (first[c] - second[c]);
    if (weight && *weight != here) return std::nullopt;
    weight = here;
  }
  if (!weight) {
    throw InputError("segment.not_in_general_position", "segment",
                     "both values are the same point");
  }
  for (std::size_t c = 0; c < first.size(); ++c) {
    if (first[c] == second[c] && point[c] != first[c]) return std::nullopt;
  }
  return weight;
}

bool on_open_segment(std::span<const Rational> first, std::span<const Rational> second,
                     std::span<const Rational> point) {
  const auto weight = line_weight(first, second, point);
  return weight && *weight > 0 && *weight < 1;
}

std::optional<std::vector<Rational>> affine_weights(MatrixView<const Rational> values,
                                                    std::span<const Rational> point) {
  if (values.rows() == 0 || values.columns() != point.size()) {
    throw InputError("segment.shape", "values",
                     fmt::format("{} values of size {} against a point of size {}", values.rows(),
                                 values.columns(), point.size()));
  }
  std::vector<Row> equations = affine_equations(values, point);
  const std::size_t unknowns = values.rows();
  if (reduce(equations, unknowns) < unknowns) {
    throw InputError("segment.not_in_general_position", "values",
                     "the values are affinely dependent, so the weights are not unique");
  }
  std::vector<Rational> weights;
  for (std::size_t r = 0; r < equations.size(); ++r) {
    if (r < unknowns) {
      weights.push_back(equations[r][unknowns]);
    } else if (equations[r][unknowns] != 0) {
      return std::nullopt;
    }
  }
  return weights;
}

bool is_attainable(const std::optional<std::vector<Rational>>& weights) {
  return weights && std::ranges::all_of(*weights, [](const Rational& w) { return w > 0; });
}

}  // namespace gqa
