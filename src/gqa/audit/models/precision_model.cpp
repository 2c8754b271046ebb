#include "gqa/audit/models/precision_model.hpp"

#include <numeric>
#include <utility>

#include "gqa/num/arithmetic.hpp"

namespace gqa {

namespace {

// Weighted mean and standard deviation over the visible keys and the sink (value 0),
// whose weights sum to one.
Ball weighted_deviation(std::span<const Ball> weights, std::span<const Ball* const> values,
                        const std::optional<Ball>& sink_weight, const Ball& sink_value) {
  Ball mean;
  for (std::size_t k = 0; k < weights.size(); ++k) mean += weights[k] * *values[k];
  if (sink_weight) mean += *sink_weight * sink_value;
  Ball variance;
  for (std::size_t k = 0; k < weights.size(); ++k) {
    variance += weights[k] * square(*values[k] - mean);
  }
  if (sink_weight) variance += *sink_weight * square(sink_value - mean);
  return sqrt(variance);
}

// Which part of roundings to multiples of about `spacing` may be common to numbers that
// spread by `deviation`: 1 if they are equal.
Ball ball_coherence(const Ball& spacing, const Ball& deviation) {
  const Ball larger = max(spacing, deviation);
  return less(Ball(0), larger).certainly() ? spacing / larger : Ball(1);
}

// sd of n numbers from the sums of themselves and of their squares.
Ball deviation_of(const Ball& sum, const Ball& squares, const Ball& n) {
  return sqrt(max(squares / n - square(sum / n), Ball(0)));
}

// sd of the scores of the keys alone, by their weights.
Ball key_score_deviation(const RowRounding& row) {
  Ball total;
  Ball mean;
  for (std::size_t k = 0; k < row.scores.size(); ++k) {
    total += row.weights[k];
    mean += row.weights[k] * row.scores[k];
  }
  mean /= total;
  Ball variance;
  for (std::size_t k = 0; k < row.scores.size(); ++k) {
    variance += row.weights[k] * square(row.scores[k] - mean);
  }
  return sqrt(max(variance / total, Ball(0)));
}

}  // namespace

ScoreMagnitudes magnitudes_of(const RowRounding& row, std::size_t k) {
  ScoreMagnitudes magnitudes;
  magnitudes.key_size = row.key_size;
  magnitudes.plain = row.plain;
  magnitudes.scale = row.scale;
  magnitudes.query_norm2 = row.query_norm2;
  magnitudes.key_norm2 = row.key_norm2[k];
  magnitudes.raw = abs(row.raw_scores[k]);
  magnitudes.score = abs(row.scores[k]);
  magnitudes.softcap = row.softcap;
  if (!row.biases.empty()) magnitudes.bias = row.biases[k];
  return magnitudes;
}

RoundingBound::RoundingBound(const PrecisionModel& model, const RowRounding& row,
                             const FormatRounding& recorded)
    : model_(model), row_(row), recorded_(recorded) {
  largest_score_ = row.sink_score ? *row.sink_score : row.scores.front();
  for (const Ball& score : row.scores) largest_score_ = max(largest_score_, score);
  weighted_variance_.reserve(row.scores.size());
  Ball total;
  Ball squares;
  Ball denominator = row.sink_score ? exp(*row.sink_score - largest_score_) : Ball(0);
  std::vector<const Ball*> scores;
  for (std::size_t k = 0; k < row.scores.size(); ++k) {
    weighted_variance_.push_back(square(row.weights[k]) * score_variance_of(k));
    total += row.weights[k];
    squares += square(row.weights[k]);
    scores.push_back(&row.scores[k]);
    likely_row_.lost_weights += lost_part(row.weights[k], Ball(model.denominator), gone_from_sum);
    if (model.weights_scaled) denominator += exp(row.scores[k] - largest_score_);
  }
  likely_row_.visible = Ball(static_cast<double>(row.visible));
  likely_row_.key_size = Ball(static_cast<double>(row.key_size));
  likely_row_.equal_weights = Ball(squared_sizes(row.equal.scores));
  likely_row_.weight_underflow = row_weight_underflow(model, denominator);
  if (row.sink_weight) {
    likely_row_.sink_variance = sink_score_variance(model, *row.sink_weight, *row.sink_score,
                                                    *row.sink_score - largest_score_);
  }
  likely_row_.score_deviation =
      weighted_deviation(row.weights, scores, row.sink_weight, row.sink_score.value_or(Ball()));
  likely_row_.weight_coherence = ball_coherence(Ball(model.weight), key_score_deviation(row));
  likely_row_.denominator_coherence = ball_coherence(
      Ball(2 * model.denominator), deviation_of(total, squares, likely_row_.visible));
  bound_weak_keys();
  for (const EqualClass& members : row.equal.scores) {
    score_class_variances_.push_back(largest_variance(members));
  }
  for (const EqualClass& members : row.equal.keys) {
    key_class_variances_.push_back(largest_variance(members));
  }
  // Below that nothing is left to see beside any rounding.
  for (const Ball& weight : row.weights) {
    if (model.weight_underflow < 0x1p-100) break;
    underflown_weights_.push_back(
        lost_part(weight, likely_row_.weight_underflow, gone_from_format));
  }
  worst_.emplace(model, extremes());
}

Ball RoundingBound::score_variance_of(std::size_t k) const {
  ScoreSquares<Ball> squares;
  squares.products = square(row_.scale) * row_.query_norm4_squared * row_.key_norm4_squared[k];
  squares.raw = square(row_.raw_scores[k]);
  squares.score = square(row_.scores[k]);
  squares.distance = square(row_.scores[k] - largest_score_);
  if (!row_.biases.empty()) squares.bias = square(row_.biases[k]);
  return score_variance(model_, row_.key_size, row_.plain, squares);
}

Ball RoundingBound::largest_variance(const EqualClass& members) const {
  Ball largest;
  for (const std::size_t k : members) largest = max(largest, score_variance_of(k));
  return largest;
}

Ball RoundingBound::equal_classes_of_denominator() const {
  Ball variance;
  const auto add = [&](const std::vector<EqualClass>& classes, const std::vector<Ball>& variances) {
    for (std::size_t i = 0; i < classes.size(); ++i) {
      Ball weight;
      for (const std::size_t k : classes[i]) weight += row_.weights[k];
      variance += variances[i] * square(weight);
    }
  };
  add(row_.equal.scores, score_class_variances_);
  add(row_.equal.keys, key_class_variances_);
  return variance;
}

Ball RoundingBound::equal_classes(std::span<const Ball* const> values, const Ball& output) const {
  Ball variance;
  const auto sums = [&](const EqualClass& members) {
    std::pair<Ball, Ball> sums;  // sum w (v - o), sum w v
    for (const std::size_t k : members) {
      sums.first += row_.weights[k] * (*values[k] - output);
      sums.second += row_.weights[k] * *values[k];
    }
    return sums;
  };
  for (std::size_t i = 0; i < row_.equal.scores.size(); ++i) {
    const auto [away, weighted_sum] = sums(row_.equal.scores[i]);
    variance += equal_scores_variance(model_, score_class_variances_[i], away, weighted_sum);
  }
  for (std::size_t i = 0; i < row_.equal.keys.size(); ++i) {
    variance += key_class_variances_[i] * square(sums(row_.equal.keys[i]).first);
  }
  return variance;
}

// What values that are rounded alike add.
Ball RoundingBound::equal_values(std::span<const Ball* const> values) const {
  Ball variance;
  std::vector<double> numbers;
  for (const Ball* value : values) numbers.push_back(value->midpoint_double());
  EqualClass all(numbers.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  for (const EqualClass& members : equal_numbers(all, numbers)) {
    Ball weight;
    for (const std::size_t k : members) weight += row_.weights[k];
    variance += equal_values_variance(model_, weight, *values[members.front()]);
  }
  return variance;
}

// The keys that do not dominate, and for models that round operands the mean key.
void RoundingBound::bound_weak_keys() {
  Ball total;
  Ball largest;
  for (std::size_t k = 0; k < row_.scores.size(); ++k) {
    const Ball share = weak_share(row_.weights[k], likely_row_.visible);
    weak_weights_.push_back(share * row_.weights[k]);
    total += weak_weights_[k];
    weak_mean_ += weak_weights_[k] * row_.scores[k];
    largest = max(largest, share * abs(row_.scores[k]));
  }
  total = max(total, Ball(0x1p-1000));  // without such keys there is nothing to divide
  weak_mean_ /= total;
  Ball variance;
  for (std::size_t k = 0; k < row_.scores.size(); ++k) {
    variance += weak_weights_[k] * square(row_.scores[k] - weak_mean_);
  }
  const Ball deviation = sqrt(max(variance / total, Ball(0)));
  likely_row_.weak_coherence = ball_coherence(Ball(model_.weight), deviation);
  if (model_.stored_score > 0) {
    likely_row_.stored_score_coherence =
        ball_coherence(Ball(2 * model_.stored_score) * largest, deviation);
  }
  if (model_.operand > 0) {
    mean_key_.resize(row_.query.size());
    for (std::size_t k = 0; k < row_.scores.size(); ++k) {
      for (std::size_t t = 0; t < mean_key_.size(); ++t) {
        mean_key_[t] += row_.weights[k] * row_.keys[k * mean_key_.size() + t];
      }
    }
  }
}

RowExtremes RoundingBound::extremes() const {
  RowExtremes row;
  row.visible = row_.visible;
  row.sink = row_.sink_weight.has_value();
  for (std::size_t k = 0; k < row_.scores.size(); ++k) {
    const ScoreMagnitudes magnitudes = magnitudes_of(row_, k);
    row.score_error = max(row.score_error, largest_score_error(model_, magnitudes));
    row.distance = max(row.distance, abs(row_.scores[k] - largest_score_));
    row.magnitude = max(row.magnitude, magnitudes.score);
  }
  if (row_.sink_score) {
    row.distance = max(row.distance, abs(*row_.sink_score - largest_score_));
    row.magnitude = max(row.magnitude, abs(*row_.sink_score));
  }
  return row;
}

Ball RoundingBound::lost_values(std::span<const Ball* const> values, const Ball& unit) const {
  Ball lost;
  const Ball gone = Ball(gone_from_sum) * unit;
  for (std::size_t k = 0; k < values.size(); ++k) {
    const Ball term = row_.weights[k] * abs(*values[k]);
    // Nearly every term is larger than what a sum may lose.
    if (!less(gone, term).certainly()) lost += lost_part(term, unit, gone_from_sum);
  }
  return lost;
}

// scale^2 sum_t q_t^2 Cov_w(k_t, v_c)^2, the sink being a zero key with a zero value.
Ball RoundingBound::query_covariance(std::span<const Ball* const> values,
                                     const Ball& output) const {
  const std::size_t dk = row_.query.size();
  Ball sum;
  for (std::size_t t = 0; t < dk; ++t) {
    Ball covariance;
    for (std::size_t k = 0; k < values.size(); ++k) {
      covariance += row_.weights[k] * row_.keys[k * dk + t] * *values[k];
    }
    sum += square(row_.query[t] * (covariance - mean_key_[t] * output));
  }
  return square(row_.scale) * sum;
}

RoundingBounds RoundingBound::column(std::span<const Ball* const> values,
                                     const Ball& output) const {
  LikelyColumn<Ball> sums;
  sums.output = abs(output);
  Ball weighted_sum;
  ColumnMagnitudes magnitudes;
  for (std::size_t k = 0; k < values.size(); ++k) {
    const Ball magnitude = abs(*values[k]);
    sums.spread += weighted_variance_[k] * square(*values[k] - output);
    const Ball term = row_.weights[k] * *values[k];
    weighted_sum += term;
    sums.weighted_squares += square(term);
    sums.squares += square(*values[k]);
    sums.sum += *values[k];
    const Ball weak_term = weak_weights_[k] * *values[k];
    sums.weak_output += weak_term;
    if (model_.stored_score > 0) {
      sums.score_covariance += weak_term * (row_.scores[k] - weak_mean_);
    }
    if (!underflown_weights_.empty()) sums.underflown_values += underflown_weights_[k] * magnitude;
    magnitudes.mean += row_.weights[k] * magnitude;
    magnitudes.largest = max(magnitudes.largest, magnitude);
  }
  sums.sum = abs(sums.sum);
  sums.weak_output = abs(sums.weak_output);
  sums.score_covariance = abs(sums.score_covariance);
  sums.value_deviation = weighted_deviation(row_.weights, values, row_.sink_weight, Ball());
  sums.value_coherence = ball_coherence(Ball(2 * model_.value) * sums.output, sums.value_deviation);
  sums.accumulation_coherence =
      ball_coherence(Ball(2 * model_.accumulation) * sums.output,
                     deviation_of(weighted_sum, sums.weighted_squares, likely_row_.visible));
  sums.lost_values = lost_values(values, Ball(model_.accumulation) * accumulated_magnitude(sums));
  if (model_.operand > 0) sums.query_covariance = query_covariance(values, output);
  sums.equal_classes = equal_classes(values, output);
  if (model_.value > 0) sums.equal_classes += equal_values(values);
  magnitudes.output = sums.output;
  return {likely_bound(model_, likely_row_, sums, recorded_), (*worst_)(magnitudes, recorded_)};
}

}  // namespace gqa
