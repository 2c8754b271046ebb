#include "gqa/theory/attainable.hpp"

#include <fmt/format.h>

#include "gqa/error.hpp"
#include "gqa/theory/certificate_writer.hpp"
#include "gqa/theory/simplex.hpp"

namespace gqa {
namespace {

using nlohmann::ordered_json;

void require_shapes(const RationalMatrix& values, const RationalVector& point) {
  require_rows(values, values.size(), "values");
  if (point.size() != values[0].size()) {
    throw InputError(
        "attain.shape", "point",
        fmt::format("has {} coordinates, the values have {}", point.size(), values[0].size()));
  }
}

}  // namespace

void require_rows(const RationalMatrix& rows, std::size_t count, const char* where) {
  if (has_shape(rows, count, rows.empty() ? 0 : rows[0].size())) return;
  throw InputError("attain.shape", where,
                   fmt::format("is no list of {} rows of one length, at least 1", count));
}

Attainability attainability(const RationalMatrix& values, const RationalVector& point) {
  require_shapes(values, point);
  // Weights u_j + t with u, t >= 0: sum u_j values[j] + t sum values[j] = point, sum u_j + N t = 1;
  // the largest t is the largest smallest weight.
  const std::size_t count = values.size();
  RationalMatrix rows(point.size() + 1, RationalVector(count + 1));
  for (std::size_t j = 0; j < count; ++j) {
    for (std::size_t c = 0; c < point.size(); ++c) {
      rows[c][j] = values[j][c];
      rows[c][count] += values[j][c];
    }
    rows[point.size()][j] = 1;
    rows[point.size()][count] += 1;
  }
  RationalVector right = point;
  right.push_back(1);
  RationalVector objective(count + 1);
  objective[count] = 1;
  const SimplexResult best = maximise(rows, right, objective);

  Attainability found;
  found.attainable = best.feasible && best.value > 0;
  if (found.attainable) {
    found.weights.assign(best.solution.begin(), best.solution.end() - 1);
    for (Rational& weight : found.weights) weight += best.value;
    return found;
  }
  // Infeasible: the multipliers have the values on the negative side. Otherwise t = 0 is the
  // optimum, and they have the point at zero and the values' sides summing to at least 1.
  found.normal.assign(best.multipliers.begin(), best.multipliers.end() - 1);
  found.offset = best.multipliers.back();
  if (!best.feasible) {
    for (Rational& x : found.normal) x = -x;
    found.offset = -found.offset;
  }
  return found;
}

ordered_json certificate_of(const Attainability& found, const RationalMatrix& values,
                            const RationalVector& point) {
  ordered_json json =
      new_certificate(found.attainable ? "attainable_point" : "separating_hyperplane");
  json["values"] = exact_json(values);
  json["point"] = exact_json(point);
  if (found.attainable) {
    json["weights"] = exact_json(found.weights);
    return json;
  }
  json["normal"] = exact_json(found.normal);
  json["offset"] = exact_json(found.offset);
  RationalVector sides;
  for (const RationalVector& value : values) {
    sides.push_back(dot(found.normal, value) + found.offset);
  }
  json["value_sides"] = exact_json(sides);
  json["point_side"] = exact_json(Rational(dot(found.normal, point) + found.offset));
  return json;
}

}  // namespace gqa
