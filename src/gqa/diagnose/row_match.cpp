#include "gqa/diagnose/row_match.hpp"

#include <cmath>

#include "gqa/audit/verdict.hpp"

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

bool matches_roughly(const DiagnosisCase& problem, const Behaviour& behaviour,
                     const RowPlace& declared_place) {
  const RowPlace place = walked(behaviour, declared_place);
  const EvaluatedRow<double> row =
      evaluate_row<double>(behaviour, place.batch, place.head, place.row);
  if (row.anything) return true;
  const std::vector<double> allowed =
      estimated_allowance(behaviour, place, row, problem.tolerance, *problem.format);
  for (std::size_t c = 0; c < row.output.size(); ++c) {
    const double output = recorded(behaviour, place, static_cast<std::int64_t>(c));
    if (row.narrow != nullptr && !encode_exact(*row.narrow, output)) return false;
    if (!holds(output, row.output[c], row.is_nan[c] != 0, allowed[c])) return false;
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
    for (const std::size_t j : row.visible) {
      values.emplace_back(
          behaviour.value_at(place.batch, value_head, static_cast<std::int64_t>(j), column));
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

ExpectedRow::ExpectedRow(const DiagnosisCase& problem, const Behaviour& behaviour,
                         const RowPlace& place)
    : place_(place) {
  const RowPlace own = walked(behaviour, place);
  row_ = evaluate_row<double>(behaviour, own.batch, own.head, own.row);
  if (!row_.anything) {
    allowed_ = estimated_allowance(behaviour, own, row_, problem.tolerance, *problem.format);
  }
}

bool ExpectedRow::is_same(const Behaviour& other, double share) const {
  const RowPlace own = walked(other, place_);
  const auto row = evaluate_row<double>(other, own.batch, own.head, own.row);
  if (row.anything || row_.anything) return row.anything == row_.anything;
  for (std::size_t c = 0; c < row.output.size(); ++c) {
    if (row.is_nan[c] != row_.is_nan[c]) return false;
    if (row.is_nan[c] != 0) continue;
    if (!(std::abs(row_.output[c] - row.output[c]) <= share * allowed_[c])) return false;
  }
  return true;
}

}  // namespace gqa
