#include "gqa/audit/enclose/enclosure.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "gqa/attention/seen_keys.hpp"
#include "gqa/audit/models/ball_norms.hpp"
#include "gqa/num/arithmetic_environment.hpp"

namespace gqa {
namespace {

// Reads a [S, width] history into balls; marks rows that hold anything not finite.
Tensor<Ball> read_balls(const History& history, std::int64_t batch, std::int64_t kv_head,
                        std::vector<char>& finite) {
  const std::int64_t rows = history.rows();
  const auto width = static_cast<std::size_t>(history.width());
  Tensor<Ball> balls({1, 1, rows, history.width()});
  std::vector<double> buffer(width);
  for (std::int64_t s = 0; s < rows; ++s) {
    history.read_rows(batch, kv_head, s, s + 1, buffer.data(), width);
    const auto row = balls.matrix(0, 0).row(static_cast<std::size_t>(s));
    for (std::size_t d = 0; d < width; ++d) {
      if (std::isfinite(buffer[d])) {
        row[d] = Ball(buffer[d]);
      } else {
        finite[static_cast<std::size_t>(s)] = 0;
      }
    }
  }
  return balls;
}

std::vector<double> read_query(const AttentionProblem& problem, std::int64_t batch,
                               std::int64_t head, std::int64_t row) {
  std::vector<double> query(static_cast<std::size_t>(problem.dimensions.key_size));
  problem.query.read_rows(batch, head, row, row + 1, query.data(), query.size());
  return query;
}

}  // namespace

EnclosureReader::EnclosureReader(const AttentionProblem& problem, std::int64_t batch,
                                 std::int64_t kv_head)
    : problem_(problem),
      batch_(batch),
      kv_head_(kv_head),
      key_row_finite_(static_cast<std::size_t>(problem.dimensions.keys), 1) {
  // Operands that are subnormal would be read as zeros.
  require_ieee_arithmetic();
  key_ = read_balls(problem.key, batch, kv_head, key_row_finite_);
  key_kinds_ = row_kinds(problem.key, batch, kv_head, {0, problem.dimensions.keys}).numbers;
  key_finite_ = key_row_finite_;
  value_ = read_balls(problem.value, batch, kv_head, key_finite_);
}

std::vector<std::size_t> EnclosureReader::visible(std::int64_t head, std::int64_t row) const {
  return problem_.visibility.keys_of(batch_, head, row);
}

bool EnclosureReader::is_finite(std::int64_t head, std::int64_t row,
                                const std::vector<std::size_t>& visible) const {
  const std::vector<double> query = read_query(problem_, batch_, head, row);
  if (const auto logit = problem_.sink_of(head); logit && !std::isfinite(*logit)) return false;
  return std::ranges::all_of(query, [](double q) { return std::isfinite(q); }) &&
         std::ranges::all_of(visible, [&](std::size_t j) {
           return key_finite_[j] != 0 && bias_of(head, row, j).is_finite();
         });
}

std::vector<Ball> EnclosureReader::query_balls(std::int64_t head, std::int64_t row) const {
  const std::vector<double> query = read_query(problem_, batch_, head, row);
  return {query.begin(), query.end()};
}

BiasTerms EnclosureReader::bias_of(std::int64_t head, std::int64_t row, std::size_t key) const {
  return problem_.bias_of(batch_, head, row, static_cast<std::int64_t>(key));
}

std::optional<Rational> EnclosureReader::exact_bias(std::int64_t head, std::int64_t row,
                                                    std::size_t key) const {
  const BiasTerms terms = bias_of(head, row, key);
  return terms.is_finite() ? std::optional(terms.sum()) : std::nullopt;
}

Ball EnclosureReader::bias_magnitude(std::int64_t head, std::int64_t row, std::size_t key) const {
  return bias_of(head, row, key).magnitude();
}

EnclosureReader::Scores EnclosureReader::scores(std::span<const Ball> query, std::int64_t head,
                                                std::int64_t row, std::size_t key,
                                                ScoreStage last) const {
  const Ball scale = problem_.scale_ball();
  const Ball softcap(problem_.contract.softcap);
  const bool capped = last != ScoreStage::scaled && problem_.contract.softcap != 0;
  Ball bias;
  const bool biased = last == ScoreStage::biased && problem_.has_bias();
  if (biased) bias = Ball(bias_of(head, row, key).sum());
  Scores scores;
  const auto see = [&scores](ScoreStage stage, const Ball& score) {
    if (stage == ScoreStage::scaled) scores.scaled = score;
    if (stage == ScoreStage::softcapped) scores.softcapped = score;
  };
  const std::span<const Ball> of_key = key_balls(key);
  scores.score =
      score_stages<BallNumbers>(dot(query.data(), of_key.data(), of_key.size()), &scale,
                                capped ? &softcap : nullptr, biased ? &bias : nullptr, see);
  return scores;
}

EnclosureReader::Row EnclosureReader::row(std::int64_t head, std::int64_t row,
                                          const std::vector<std::size_t>& visible) const {
  return row_of(head, row, visible, value_.data(),
                static_cast<std::size_t>(problem_.dimensions.value_size));
}

EnclosureReader::Row EnclosureReader::row(std::int64_t head, std::int64_t row,
                                          const std::vector<std::size_t>& visible,
                                          std::span<const std::int64_t> columns) const {
  const auto value_size = static_cast<std::size_t>(problem_.dimensions.value_size);
  // The sums of most columns cost what those of all do.
  if (2 * columns.size() > value_size) return this->row(head, row, visible);
  std::vector<Ball> values(keys() * columns.size());
  for (const std::size_t j : visible) {
    const std::span<const Ball> all = value_balls(j);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      values[j * columns.size() + i] = all[static_cast<std::size_t>(columns[i])];
    }
  }
  Row result = row_of(head, row, visible, values, columns.size());
  const std::vector<Ball> some = std::exchange(
      result.output, std::vector<Ball>(value_size, Ball(std::numeric_limits<double>::quiet_NaN())));
  for (std::size_t i = 0; i < columns.size(); ++i) {
    result.output[static_cast<std::size_t>(columns[i])] = some[i];
  }
  return result;
}

EnclosureReader::Row EnclosureReader::row_of(std::int64_t head, std::int64_t row,
                                             const std::vector<std::size_t>& visible,
                                             std::span<const Ball> value_balls,
                                             std::size_t width) const {
  const std::vector<double> query = read_query(problem_, batch_, head, row);
  const std::vector<Ball> query_balls(query.begin(), query.end());
  const std::size_t keys = this->keys();
  const BallNumbers::Values values(value_balls, keys, width);
  const Ball scale = problem_.scale_ball();
  const Ball softcap(problem_.contract.softcap);
  std::vector<Ball> bias;
  if (problem_.has_bias()) {
    bias.resize(keys);
    for (const std::size_t j : visible) bias[j] = Ball(bias_of(head, row, j).sum());
  }
  std::optional<Ball> sink;
  RowOperands<BallNumbers> operands;
  operands.query = query_balls;
  operands.key = key_.matrix(0, 0);
  operands.values = &values;
  operands.scale = &scale;
  operands.visible = visible;
  operands.bias = bias;
  if (problem_.contract.softcap != 0) operands.softcap = &softcap;
  if (const auto logit = problem_.sink_of(head)) {
    sink = Ball(*logit);
    operands.sink = &*sink;
  }
  Row owned;
  owned.output.resize(width);
  owned.weights.resize(keys);
  RowResult<BallNumbers> result;
  result.output = owned.output;
  result.weights = owned.weights;
  attend_row(operands, keys, result);
  owned.scores = std::move(result.scores);
  return owned;
}

RowRounding EnclosureReader::rounding(const PrecisionModel& model, std::int64_t head,
                                      std::int64_t row, const std::vector<std::size_t>& visible,
                                      const Row& result) const {
  const std::vector<double> query = read_query(problem_, batch_, head, row);
  const std::vector<Ball> query_balls(query.begin(), query.end());
  RowRounding rounding;
  rounding.key_size = problem_.dimensions.key_size;
  rounding.visible = static_cast<std::int64_t>(visible.size());
  rounding.query_norm2 = norm2(query_balls);
  rounding.query_norm4_squared = norm4_squared(query_balls);
  rounding.scale = problem_.scale_ball();
  rounding.plain = problem_.contract.softcap == 0 && !problem_.has_bias();
  rounding.softcap = Ball(problem_.contract.softcap);
  if (model.operand > 0) rounding.query = query_balls;
  Ball total_weight;
  for (const std::size_t j : visible) {
    const auto key = key_.matrix(0, 0).row(j);
    rounding.key_norm2.push_back(norm2(key));
    rounding.key_norm4_squared.push_back(norm4_squared(key));
    rounding.scores.push_back(result.scores[j]);
    rounding.raw_scores.push_back(
        rounding.plain ? result.scores[j]
                       : scores(query_balls, head, row, j, ScoreStage::scaled).scaled);
    rounding.weights.push_back(result.weights[j]);
    if (problem_.has_two_biases()) {
      rounding.biases.push_back(bias_magnitude(head, row, j));
    }
    if (model.operand > 0) rounding.keys.insert(rounding.keys.end(), key.begin(), key.end());
    total_weight += result.weights[j];
  }
  std::vector<std::int64_t> kinds;
  for (const std::size_t j : visible) kinds.push_back(key_kinds_[j]);
  rounding.equal = equal_classes(labels_of_enclosed(rounding.scores), kinds);
  if (const auto logit = problem_.sink_of(head)) {
    rounding.sink_score = Ball(*logit);
    rounding.sink_weight = max(Ball(1) - total_weight, Ball(0));
  }
  return rounding;
}

std::optional<Rational> EnclosureReader::mean_of_all(std::int64_t column) const {
  const std::int64_t keys = problem_.dimensions.keys;
  if (keys == 0) return std::nullopt;
  Rational sum;
  for (std::int64_t key = 0; key < keys; ++key) {
    const double value = problem_.value.value(batch_, kv_head_, key, column);
    if (!std::isfinite(value)) return std::nullopt;
    sum += Rational(value);
  }
  return Rational(sum / Rational(static_cast<long>(keys)));
}

std::vector<const Ball*> EnclosureReader::value_column(const std::vector<std::size_t>& visible,
                                                       std::int64_t column) const {
  std::vector<const Ball*> values;
  values.reserve(visible.size());
  for (const std::size_t j : visible) {
    values.push_back(&value_.matrix(0, 0)(j, static_cast<std::size_t>(column)));
  }
  return values;
}

}  // namespace gqa
