#include "gqa/audit/precision_model.hpp"

#include <cmath>

namespace gqa {

namespace {

Ball square(const Ball& x) {
  return x * x;
}

// The factor of m roundings at most, (1 + u)^m: unlike 1 + gamma(m) finite for every m.
Ball growth(std::int64_t m, double u) {
  return exp(Ball(static_cast<double>(m)) * log(Ball(1) + Ball(u)));
}

// The least factor, (1 - u)^m. Precondition: u < 1.
Ball shrinkage(std::int64_t m, double u) {
  return exp(Ball(static_cast<double>(m)) * log(Ball(1) - Ball(u)));
}

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
Ball coherence(const Ball& spacing, const Ball& deviation) {
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
  likely_row_.weight_coherence = coherence(Ball(model.weight), key_score_deviation(row));
  likely_row_.denominator_coherence =
      coherence(Ball(2 * model.denominator), deviation_of(total, squares, likely_row_.visible));
  find_worst_factors();
}

Ball RoundingBound::variance_of_score(std::size_t k) const {
  return score_variance(
      model_, row_.key_size, row_.plain,
      ScoreSquares<Ball>{square(row_.scale) * row_.query_norm4_squared * row_.key_norm4_squared[k],
                         square(row_.raw_scores[k]), square(row_.scores[k]),
                         square(row_.scores[k] - largest_score_)});
}

// D_j, the worst error of score j. Every term q_t k_t goes through at most dk roundings of
// the product and the sum, one each where query and key are scaled first, and 4 for the scale
// and its product, and is stored twice at most; all relative to M_j = scale |q|_2 |k_j|_2.
// Underflow: dk products, a scaled operand each (times |k|_1 <= sqrt(dk) |k|_2), the scaling.
// Softcap is 1-Lipschitz, so that what was there passes undiminished at most; with bias it
// adds 6 roundings of |s_j| + |raw_j|, which also bounds |bias|, and is stored twice at most.
Ball RoundingBound::score_error(std::size_t k) const {
  const Ball grown = growth(row_.key_size + 6, model_.score) * growth(2, model_.stored_score);
  const Ball root = sqrt(Ball(static_cast<double>(row_.key_size)));
  const Ball tiny = Ball(model_.inner_underflow) * max(Ball(1), row_.scale) *
                    (root * (root + row_.query_norm2 + row_.key_norm2[k]) + Ball(2));
  const Ball error =
      (grown - Ball(1)) * row_.scale * row_.query_norm2 * row_.key_norm2[k] + grown * tiny;
  if (row_.plain) return error;
  const Ball further = growth(6, model_.exponential) * growth(2, model_.stored_score);
  return further * error + (further - Ball(1)) * (abs(row_.scores[k]) + abs(row_.raw_scores[k])) +
         Ball(6 * model_.inner_underflow);
}

// E, the worst error of an exponent as exp takes it, largest over the keys. With D = max D_j
// and S = max |s_j|, a difference of two computed scores is at most |x_j| + 2 D. The key's own
// difference and the later steps of the running maximum, which telescope, are each rounded
// as a difference, times a rounded log2(e): 4 u_e (|x_j| + 2 D) with what is of second order.
// Where exp2(s c - m c) is fused otherwise, s c and m c are rounded: 2 u_e (S + D). Merging by
// log-sum-exp rounds a logarithm of at most S + D + ln n twice: 2 u_e (S + D + ln n + 1).
Ball RoundingBound::largest_exponent_error() const {
  Ball error;
  Ball distance;
  Ball magnitude;
  for (std::size_t k = 0; k < row_.scores.size(); ++k) {
    error = max(error, score_error(k));
    distance = max(distance, abs(row_.scores[k] - largest_score_));
    magnitude = max(magnitude, abs(row_.scores[k]));
  }
  if (row_.sink_score) {
    distance = max(distance, abs(*row_.sink_score - largest_score_));
    magnitude = max(magnitude, abs(*row_.sink_score));
  }
  const Ball terms(static_cast<double>(row_.visible + 1));
  return error + Ball(4 * model_.exponential) *
                     (distance + Ball(3) * error + magnitude + log(terms) + Ball(1));
}

// Of n keys (the sink counted) in at most n tiles, a weight's numerator is computed within
//   P = exp(E) (1 + 4 u_e)^(n + 2): its own exp, one per tile, one of a merge and its log,
// and goes through at most n additions, n rescalings, the product with v and 3 for the
// division and a merge. With alpha, beta the relative errors of the terms of both sums,
//   |o^ - o| <= (alpha sum w |v| + beta |o| + underflow) / (computed / exact denominator),
// THEORY 2.1 with the model's units. Weights below the normal range lose an absolute amount;
// relative to the shift of the kernel the exact denominator is at least exp(-D) >= 1 / P, and
// normalised weights are not divided at all.
void RoundingBound::find_worst_factors() {
  const std::int64_t n = row_.visible + (row_.sink_weight ? 1 : 0);
  const Ball exponent = largest_exponent_error();
  const Ball above =
      exp(exponent) * growth(n + 2, 4 * model_.exponential) * growth(1, model_.weight);
  const Ball below =
      exp(-exponent) * shrinkage(n + 2, 4 * model_.exponential) * shrinkage(1, model_.weight);
  const Ball terms(static_cast<double>(n));
  numerator_error_ = above * growth(2 * n + 4, model_.accumulation) - Ball(1);
  denominator_error_ = above * growth(2 * n + 4, model_.denominator) - Ball(1);
  tiny_amplification_ = terms * above * (Ball(1) + max(numerator_error_, denominator_error_));
  denominator_least_ =
      below * shrinkage(2 * n + 4, model_.denominator) -
      tiny_amplification_ * Ball(4 * model_.inner_underflow + model_.storage_underflow);
}

RoundingBounds RoundingBound::column(std::span<const Ball* const> values,
                                     const Ball& output) const {
  LikelyColumn<Ball> sums;
  sums.output = abs(output);
  Ball weighted_sum;
  Ball mean_magnitude;
  Ball largest;
  for (std::size_t k = 0; k < values.size(); ++k) {
    const Ball magnitude = abs(*values[k]);
    sums.spread += weighted_variance_[k] * square(*values[k] - output);
    const Ball term = row_.weights[k] * *values[k];
    weighted_sum += term;
    sums.weighted_squares += square(term);
    sums.squares += square(*values[k]);
    sums.sum += *values[k];
    mean_magnitude += row_.weights[k] * magnitude;
    largest = max(largest, magnitude);
  }
  sums.sum = abs(sums.sum);
  sums.value_deviation = weighted_deviation(row_.weights, values, row_.sink_weight, Ball());
  sums.accumulation_coherence =
      coherence(Ball(2 * model_.accumulation) * sums.output,
                deviation_of(weighted_sum, sums.weighted_squares, likely_row_.visible));
  const FormatRounding recorded{model_.output_roundoff(*row_.output_format),
                                model_.output_underflow(*row_.output_format)};
  RoundingBounds bounds;
  bounds.likely = likely_bound(model_, likely_row_, sums, recorded);
  if (!less(Ball(0), denominator_least_).certainly()) {
    bounds.worst = Ball(1) / Ball(0);  // a denominator that may vanish bounds nothing
    return bounds;
  }
  // The weight, the exp of a rescaling times the sum so far, a product with v, a rescaling.
  const Ball stored(model_.storage_underflow);
  const Ball inner(model_.inner_underflow);
  const Ball lost = tiny_amplification_ * ((Ball(2) * inner + stored) * largest + Ball(2) * inner +
                                           (Ball(4) * inner + stored) * abs(output));
  const Ball moved = (numerator_error_ * mean_magnitude + denominator_error_ * abs(output) + lost) /
                     denominator_least_;
  bounds.worst =
      moved + max(Ball(recorded.roundoff) * (abs(output) + moved), Ball(recorded.underflow));
  return bounds;
}

}  // namespace gqa
