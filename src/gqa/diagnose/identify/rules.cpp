#include "gqa/diagnose/identify/rules.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gqa/num/arithmetic.hpp"

namespace gqa::identification {
namespace {

constexpr double nothing = -std::numeric_limits<double>::infinity();

std::int64_t length_of(const RangeRule& rule, const SearchRow& row) {
  return std::min(rule.length.value_or(row.length), row.length);
}

}  // namespace

std::int64_t position_of(const RangeRule& rule, const SearchRow& row) {
  return row.place.row + position_offset(rule.alignment, row.past, row.queries,
                                         length_of(rule, row),
                                         row.length_is_given || rule.length.has_value());
}

KeyRange keys_of(const RangeRule& rule, const SearchRow& row) {
  const std::int64_t position = position_of(rule, row);
  KeyRange keys{0, length_of(rule, row)};
  if (rule.causal) keys = causal_keys(keys, position);
  return window_keys(keys, narrowed(rule.window, row.queries, row.keys()), position);
}

std::vector<double> scores_of(const ScoreRule& rule, const SearchRow& row, std::int64_t position) {
  std::vector<double> scores(row.products.size());
  const double cap = rule.curvature > 0 ? 1 / std::sqrt(rule.curvature) : 0;
  const std::optional<double> slope = row.slope ? row.slope : rule.slope;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    double score = rule.scale * row.products[j];
    if (cap > 0) score = cap * std::tanh(score / cap);
    if (!row.bias.empty()) score += row.bias[j];
    if (slope) {
      score -= *slope * std::abs(static_cast<double>(position - static_cast<std::int64_t>(j)));
    }
    scores[j] = !row.hidden.empty() && row.hidden[j] != 0 ? nothing : score;
  }
  return scores;
}

std::vector<double> output_of(const Hypothesis& hypothesis, const SearchRow& row,
                              std::span<const std::size_t> columns) {
  const std::int64_t position = position_of(hypothesis.range, row);
  const std::vector<double> scores = scores_of(hypothesis.score, row, position);
  const KeyRange keys = keys_of(hypothesis.range, row);
  if (keys.empty()) return {};
  const auto begin = scores.begin() + keys.begin;
  const auto end = scores.begin() + keys.end;
  double largest = *std::max_element(begin, end);
  if (row.sink) largest = std::max(largest, *row.sink);
  if (largest == nothing) return {};
  double total = row.sink ? std::exp(*row.sink - largest) : 0;
  if (hypothesis.score.sink) total += *hypothesis.score.sink * std::exp(-largest);
  std::vector<double> output(columns.size(), 0.0);
  for (std::int64_t j = keys.begin; j < keys.end; ++j) {
    const double weight = std::exp(scores[extent(j)] - largest);
    total += weight;
    const double* values = row.history->values.data() + extent(j) * row.columns();
    for (std::size_t c = 0; c < columns.size(); ++c) output[c] += weight * values[columns[c]];
  }
  for (double& element : output) element /= total;
  return output;
}

double misfit(const Hypothesis& hypothesis, std::span<const SearchRow> rows) {
  double sum = 0;
  for (const SearchRow& row : rows) {
    const std::vector<std::size_t> columns = spread_columns(row.columns(), row.columns());
    const std::vector<double> output = output_of(hypothesis, row, columns);
    double distance = output.empty() ? row.square : 0;
    for (std::size_t c = 0; c < output.size(); ++c) distance += square(row.output[c] - output[c]);
    const double share = distance / row.square;
    sum += share < 1 ? share : 1;  // NaN counts 1
  }
  return rows.empty() ? 1 : sum / static_cast<double>(rows.size());
}

std::vector<std::size_t> spread_columns(std::size_t all, std::size_t count) {
  std::vector<std::size_t> columns;
  const std::size_t taken = std::min(all, count);
  for (std::size_t n = 0; n < taken; ++n) columns.push_back(n * all / taken);
  return columns;
}

}  // namespace gqa::identification
