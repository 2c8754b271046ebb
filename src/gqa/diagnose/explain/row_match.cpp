#include "gqa/diagnose/explain/row_match.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "gqa/audit/decide/element_decision.hpp"

namespace gqa {
namespace {

// Where the behaviour has what the declared one has at `place`.
RowPlace walked(const Behaviour& behaviour, RowPlace place) {
  if (behaviour.axes_swapped) std::swap(place.head, place.row);
  return place;
}

bool holds(double output, double expected, bool is_nan, double allowed) {
  if (is_nan || std::isnan(output)) return is_nan && std::isnan(output);
  if (!std::isfinite(output)) return output == expected;
  // Where nothing was rounded the allowance of a spoilt row, which is NaN, does not matter.
  return output == expected || std::abs(output - expected) <= allowed;
}

}  // namespace

DiagnosisCase make_diagnosis_case(const ProblemTensors& tensors, const Contract& contract,
                                  const Tolerance& tolerance) {
  DiagnosisCase result;
  const PrecisionScope precision(128);
  result.declared = behaviour_of(tensors, contract);
  result.tolerance = tolerance;
  result.format = float_format(tensors.output->type);
  return result;
}

double recorded(const Behaviour& behaviour, const RowPlace& place, std::int64_t column) {
  return behaviour.output.at(place.batch, place.head, place.row, column);
}

namespace {

double distance_of(double output, double expected, bool is_nan) {
  if (is_nan || std::isnan(output)) {
    return is_nan && std::isnan(output) ? 0 : std::numeric_limits<double>::infinity();
  }
  return output == expected ? 0 : output - expected;
}

// The row itself, and whether every column is within what is allowed, with all distances.
RowComparison compared(const DiagnosisCase& problem, const Behaviour& behaviour,
                       const RowPlace& declared_place) {
  const RowPlace place = walked(behaviour, declared_place);
  RowComparison result;
  result.expected = evaluate_row<double>(behaviour, place.batch, place.head, place.row);
  const EvaluatedRow<double>& row = result.expected;
  if (row.anything) return result;
  result.allowed = estimated_allowance(behaviour, place, row, problem.tolerance, *problem.format);
  for (std::size_t c = 0; c < row.output.size(); ++c) {
    const double output = recorded(behaviour, place, static_cast<std::int64_t>(c));
    const bool is_nan = row.is_nan[c] != 0;
    if ((row.narrow != nullptr && !encode_exact(*row.narrow, output)) ||
        !holds(output, row.output[c], is_nan, result.allowed[c])) {
      result.matches = false;
    }
    result.distance.push_back(distance_of(output, row.output[c], is_nan));
  }
  return result;
}

// Columns with something between recorded and expected, in falling order of distance; nullopt if
// no allowance makes good what one of them holds.
std::optional<std::vector<std::size_t>> distant_columns(const Behaviour& behaviour,
                                                        const RowPlace& place,
                                                        const EvaluatedRow<double>& row) {
  std::vector<std::pair<double, std::size_t>> distances;
  for (std::size_t c = 0; c < row.output.size(); ++c) {
    const double output = recorded(behaviour, place, static_cast<std::int64_t>(c));
    if (row.narrow != nullptr && !encode_exact(*row.narrow, output)) return std::nullopt;
    const double distance = std::abs(distance_of(output, row.output[c], row.is_nan[c] != 0));
    if (std::isinf(distance)) return std::nullopt;
    if (distance != 0) distances.emplace_back(-distance, c);
  }
  std::ranges::sort(distances);
  std::vector<std::size_t> columns;
  for (const auto& [distance, column] : distances) columns.push_back(column);
  return columns;
}

}  // namespace

RowComparison compare_roughly(const DiagnosisCase& problem, const Behaviour& behaviour,
                              const RowPlace& place) {
  return compared(problem, behaviour, place);
}

bool matches_roughly(const DiagnosisCase& problem, const Behaviour& behaviour,
                     const RowPlace& declared_place) {
  // What could not be asked in time explains nothing.
  if (problem.is_late()) return false;
  const RowPlace place = walked(behaviour, declared_place);
  const auto row = evaluate_row<double>(behaviour, place.batch, place.head, place.row);
  if (row.anything) return true;
  const auto distant = distant_columns(behaviour, place, row);
  if (!distant) return false;
  const AllowanceEstimate estimate(behaviour, place, row, problem.tolerance, *problem.format);
  // The most distant one refutes nearly every hypothesis.
  std::span<const std::size_t> open(*distant);
  if (problem.asked_columns > 0) open = open.first(std::min(open.size(), problem.asked_columns));
  for (std::size_t count = 1; !open.empty(); count = open.size()) {
    const std::vector<double> allowed = estimate.of(open.first(count));
    for (std::size_t n = 0; n < count; ++n) {
      const double output = recorded(behaviour, place, static_cast<std::int64_t>(open[n]));
      if (!holds(output, row.output[open[n]], false, allowed[n])) return false;
    }
    open = open.subspan(count);
  }
  return true;
}

Uncertain matches(const DiagnosisCase& problem, const Behaviour& behaviour,
                  const RowPlace& declared_place) {
  const RowPlace place = walked(behaviour, declared_place);
  const PrecisionScope precision(128);
  const EvaluatedRow<Ball> row = evaluate_row<Ball>(behaviour, place.batch, place.head, place.row);
  if (row.anything) return Uncertain::yes();
  const RowRounding rounding = rounding_of(behaviour, place, row);
  const auto* model = std::get_if<ModelTolerance>(&problem.tolerance);
  std::optional<RoundingBound> bound;
  if (model != nullptr && !row.visible.empty()) {
    bound.emplace(*model->model, rounding, model->model->output_rounding(*problem.format));
  }
  const std::int64_t value_head = behaviour.value_head[static_cast<std::size_t>(place.head)];
  const double factor = factor_on_values(behaviour, place);
  Uncertain all = Uncertain::yes();
  for (std::size_t c = 0; c < row.output.size(); ++c) {
    const auto column = static_cast<std::int64_t>(c);
    const double output = recorded(behaviour, place, column);
    if (row.is_nan[c] != 0 || std::isnan(output)) {
      all = all & Uncertain::from(row.is_nan[c] != 0 && std::isnan(output));
      continue;
    }
    const Ball& expected = row.output[c];
    if (std::isfinite(output) && expected.is_exact() && expected.contains(Rational(output))) {
      continue;
    }
    if (row.narrow != nullptr && !encode_exact(*row.narrow, output)) return Uncertain::no();
    std::vector<Ball> values;
    for (std::size_t k = 0; k < row.visible.size(); ++k) {
      const auto key = static_cast<std::int64_t>(row.visible[k]);
      values.emplace_back(row.reads_zero(k)
                              ? 0
                              : factor * behaviour.value_at(place.batch, value_head, key, column));
    }
    std::vector<const Ball*> pointers;
    for (const Ball& value : values) pointers.push_back(&value);
    RoundingBounds bounds;
    if (bound) bounds = bound->column(pointers, row.output[c]);
    if (!row.slack.empty()) {
      bounds.likely += Ball(row.slack[c]);
      bounds.worst += Ball(row.slack[c]);
    }
    all = all & decide(output, *problem.format, row.output[c], problem.tolerance, &bounds).within;
    if (all.certainly_not()) break;
  }
  return all;
}

std::vector<double> distances(const Behaviour& behaviour, const RowPlace& declared_place) {
  const RowPlace place = walked(behaviour, declared_place);
  const auto row = evaluate_row<double>(behaviour, place.batch, place.head, place.row);
  std::vector<double> all;
  if (row.anything) return all;
  for (std::size_t c = 0; c < row.output.size(); ++c) {
    const double output = recorded(behaviour, place, static_cast<std::int64_t>(c));
    all.push_back(distance_of(output, row.output[c], row.is_nan[c] != 0));
  }
  return all;
}

ExpectedRow::ExpectedRow(const DiagnosisCase& problem, const Behaviour& behaviour,
                         const RowPlace& place)
    : problem_(&problem), behaviour_(&behaviour), place_(place) {
  const RowPlace own = walked(behaviour, place);
  row_ = evaluate_row<double>(behaviour, own.batch, own.head, own.row);
}

const std::vector<double>& ExpectedRow::allowed() const {
  std::call_once(allowed_->once, [this] {
    allowed_->columns = estimated_allowance(*behaviour_, walked(*behaviour_, place_), row_,
                                            problem_->tolerance, *problem_->format);
  });
  return allowed_->columns;
}

bool ExpectedRow::is_same(const Behaviour& other, double share) const {
  const RowPlace own = walked(other, place_);
  const auto row = evaluate_row<double>(other, own.batch, own.head, own.row);
  if (row.anything || row_.anything) return row.anything == row_.anything;
  for (std::size_t c = 0; c < row.output.size(); ++c) {
    if (row.is_nan[c] != row_.is_nan[c]) return false;
    if (row.is_nan[c] != 0 || row.output[c] == row_.output[c]) continue;
    if (!(std::abs(row_.output[c] - row.output[c]) <= share * allowed()[c])) return false;
  }
  return true;
}

}  // namespace gqa
