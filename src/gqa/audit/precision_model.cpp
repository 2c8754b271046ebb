#include "gqa/audit/precision_model.hpp"

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

RoundingBound::RoundingBound(const PrecisionModel& model, const RowRounding& row)
    : model_(model), row_(row) {
  largest_score_ = row.sink_score ? *row.sink_score : row.scores.front();
  for (const Ball& score : row.scores) largest_score_ = max(largest_score_, score);
  weighted_variance_.reserve(row.scores.size());
  Ball total;
  Ball squares;
  std::vector<const Ball*> scores;
  for (std::size_t k = 0; k < row.scores.size(); ++k) {
    weighted_variance_.push_back(square(row.weights[k]) * variance_of_score(k));
    total += row.weights[k];
    squares += square(row.weights[k]);
    scores.push_back(&row.scores[k]);
  }
  likely_row_.visible = Ball(static_cast<double>(row.visible));
  if (row.sink_weight) {
    likely_row_.sink_variance = sink_score_variance(model, *row.sink_weight, *row.sink_score,
                                                    *row.sink_score - largest_score_);
  }
  likely_row_.score_deviation =
      weighted_deviation(row.weights, scores, row.sink_weight, row.sink_score.value_or(Ball()));
  likely_row_.weight_coherence = ball_coherence(Ball(model.weight), key_score_deviation(row));
  likely_row_.denominator_coherence = ball_coherence(
      Ball(2 * model.denominator), deviation_of(total, squares, likely_row_.visible));
  worst_.emplace(worst_of_row());
}

Ball RoundingBound::variance_of_score(std::size_t k) const {
  return score_variance(
      model_, row_.key_size, row_.plain,
      ScoreSquares<Ball>{square(row_.scale) * row_.query_norm4_squared * row_.key_norm4_squared[k],
                         square(row_.raw_scores[k]), square(row_.scores[k]),
                         square(row_.scores[k] - largest_score_)});
}

WorstBound RoundingBound::worst_of_row() const {
  RowExtremes row;
  row.visible = row_.visible;
  row.sink = row_.sink_weight.has_value();
  for (std::size_t k = 0; k < row_.scores.size(); ++k) {
    const ScoreMagnitudes magnitudes{row_.key_size,      row_.plain,        row_.scale,
                                     row_.query_norm2,   row_.key_norm2[k], abs(row_.raw_scores[k]),
                                     abs(row_.scores[k])};
    row.score_error = max(row.score_error, largest_score_error(model_, magnitudes));
    row.distance = max(row.distance, abs(row_.scores[k] - largest_score_));
    row.magnitude = max(row.magnitude, magnitudes.score);
  }
  if (row_.sink_score) {
    row.distance = max(row.distance, abs(*row_.sink_score - largest_score_));
    row.magnitude = max(row.magnitude, abs(*row_.sink_score));
  }
  return {model_, row};
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
    magnitudes.mean += row_.weights[k] * magnitude;
    magnitudes.largest = max(magnitudes.largest, magnitude);
  }
  sums.sum = abs(sums.sum);
  sums.value_deviation = weighted_deviation(row_.weights, values, row_.sink_weight, Ball());
  sums.accumulation_coherence =
      ball_coherence(Ball(2 * model_.accumulation) * sums.output,
                     deviation_of(weighted_sum, sums.weighted_squares, likely_row_.visible));
  const FormatRounding recorded{model_.output_roundoff(*row_.output_format),
                                model_.output_underflow(*row_.output_format)};
  magnitudes.output = sums.output;
  return {likely_bound(model_, likely_row_, sums, recorded), (*worst_)(magnitudes, recorded)};
}

}  // namespace gqa
