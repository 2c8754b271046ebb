#include "gqa/audit/models/score_bound.hpp"

#include <utility>

#include "gqa/num/arithmetic.hpp"
#include "gqa/num/roundoff.hpp"

namespace gqa {
namespace {

// Of the logarithm of a numerator.
Ball numerator_error(const PrecisionModel& model, const RowExtremes& row, const LseParts& parts) {
  return largest_exponent_error(model, row) +
         Ball(model.exponential) * (abs(parts.largest) + Ball(2) * parts.log_denominator);
}

// What one step's underflow can change: the rounding of a stored number and of an inner one.
Ball underflow_of(const PrecisionModel& model) {
  return Ball(model.weight_underflow) + Ball(model.inner_underflow);
}

}  // namespace

Ball stored_output(const FormatRounding& recorded, const Ball& magnitude) {
  return max(Ball(recorded.roundoff) * magnitude, Ball(recorded.underflow));
}

Ball least_denominator(const PrecisionModel& model, const RowExtremes& row, const LseParts& parts) {
  const std::int64_t n = row.visible + (row.sink ? 1 : 0);
  const Ball least = exp(-numerator_error(model, row, parts)) *
                     shrinkage(4 + 4 * n, model.exponential) *
                     shrinkage(2 * n + 2, model.denominator);
  // What is not finite excludes nothing.
  return less(Ball(0), least).certainly() ? least : Ball(1) / Ball(0);
}

Ball lse_rounding(const PrecisionModel& model, const LseParts& parts) {
  return Ball(model.exponential) *
         (Ball(2) * abs(parts.largest) + Ball(6) * abs(parts.log_denominator) + abs(parts.lse));
}

Ball lse_underflow(const PrecisionModel& model, std::int64_t visible) {
  return Ball(static_cast<double>(visible + 2)) * Ball(model.inner_underflow);
}

Ball worst_lse(const PrecisionModel& model, const Ball& least_denominator, std::int64_t visible,
               const LseParts& parts, const FormatRounding& recorded) {
  const Ball moved = abs(log(least_denominator)) + lse_rounding(model, parts);
  return moved + stored_output(recorded, abs(parts.lse) + moved) + lse_underflow(model, visible);
}

// likely = lambda sqrt(variance) + 2 u_s |raw| (a rounded scale, common to all products and so
// no random walk: its rounding and the product's) + truncation + u_o |score| + underflow.
// Accumulators that round toward zero lose u_s |partial sum| every K products; partial sums are at
// most of the size of the score and of a random walk.
RoundingBounds score_bounds(const PrecisionModel& model, const ScoreRounding& s,
                            const FormatRounding& recorded) {
  const ScoreMagnitudes& m = s.magnitudes;
  ScoreSquares<Ball> squares;
  squares.products = square(m.scale) * s.query_norm4_squared * s.key_norm4_squared;
  squares.raw = square(m.raw);
  squares.score = square(m.score);
  squares.bias = square(m.bias);
  const Ball variance = stored_score_variance(model, m.key_size, m.plain, squares);
  Ball common = Ball(2 * model.score) * m.raw;
  if (model.products_at_once > 0) {
    common += Ball(model.score * static_cast<double>(m.key_size) / model.products_at_once) *
              (m.raw + sqrt(squares.products));
  }
  RoundingBounds bounds;
  bounds.likely = Ball(model.lambda) * sqrt(variance) + common + score_underflow(model, m) +
                  stored_output(recorded, m.score);
  const Ball moved = largest_score_error(model, m);
  bounds.worst = moved + stored_output(recorded, m.score + moved);
  return bounds;
}

// Numerators: |exponent error| <= E over all keys (largest_exponent_error), with u_e (|max| + 2 ln
// l) more for weights taken as exp(s - lse) in a second pass over an lse that was stored. Each
// numerator is then within exp(+-E) and 4 roundings of exp, each tile of an online softmax rescales
// once more (4 u_e, at most n tiles), and the sum takes 2 n + 2.
WeightBound::WeightBound(const PrecisionModel& model, RowRounding rounding,
                         const FormatRounding& recorded)
    : model_(model), row_(std::move(rounding)), recorded_(recorded), bound_(model, row_, recorded) {
  const RowRounding& row = row_;
  largest_score_ = bound_.largest_score();
  Ball denominator;
  for (const Ball& score : row.scores) denominator += exp(score - largest_score_);
  if (row.sink_score) denominator += exp(*row.sink_score - largest_score_);
  log_denominator_ = log(denominator);
  Ball products;
  for (std::size_t k = 0; k < row.scores.size(); ++k) {
    weighted_variance_ += bound_.weighted_variance(k);
    mean_score_ += row.weights[k] * row.scores[k];
    products += row.weights[k] * row.key_norm4_squared[k];
  }
  products *= square(row.scale) * row.query_norm4_squared;
  if (row.sink_score) {
    weighted_variance_ += bound_.likely_row().sink_variance;
    mean_score_ += *row.sink_weight * *row.sink_score;
  }
  weighted_variance_ += bound_.equal_classes_of_denominator();
  // A rounded query moves all scores alike.
  weighted_variance_ += square(Ball(model.operand)) / Ball(3) * products;
  const LseParts parts{largest_score_, log_denominator_, largest_score_ + log_denominator_};
  const std::int64_t n = row.visible + (row.sink_weight ? 1 : 0);
  above_ =
      exp(numerator_error(model, bound_.extremes(), parts)) * growth(4 + 4 * n, model.exponential);
  below_ = least_denominator(model, bound_.extremes(), parts);
}

// What a denominator's sum loses the same way for all of a row: where it stalls, beside a
// dominating term, and where equal stored scores round alike.
Ball WeightBound::normaliser_common() const {
  const LikelyRow<Ball>& row = bound_.likely_row();
  return row.visible / Ball(2) * Ball(model_.denominator) * row.denominator_coherence +
         row.lost_weights +
         Ball(2 * model_.stored_score) * row.stored_score_coherence * abs(mean_score_);
}

// w_j = e_j / l: its relative error is d_j - sum w_k d_k, of variance
//   (1 - w_j)^2 sigma_j^2 + sum over k != j of w_k^2 sigma_k^2 <= sigma_j^2 + sum w^2 sigma^2,
// plus u_p^2/3 for the weight's own rounding, u_l^2 n/9 for the sum and u_e^2/3 for the
// division; the scale's error, common to all keys, moves it by u (s_j - sum w s). In the
// worst case numerator and denominator err against each other:
//   above (1 + u_p)(1 + u_e)^2 / below - 1.
RoundingBounds WeightBound::weight(std::size_t k) const {
  const Ball& w = row_.weights[k];
  const Ball n(static_cast<double>(row_.visible + 1));
  const Ball up2(model_.weight * model_.weight);
  const Ball ue2(model_.exponential * model_.exponential);
  const Ball ul2(model_.denominator * model_.denominator);
  const Ball variance = square(Ball(1) - w) * bound_.score_variance_of(k) + weighted_variance_ +
                        (up2 + ue2) / Ball(3) +
                        ul2 * sum_variance(n, bound_.likely_row().equal_weights);
  const Ball common =
      Ball(2 * model_.score + model_.exponential) * abs(row_.scores[k] - mean_score_) +
      normaliser_common();
  const Ball lost = Ball(2) * underflow_of(model_);
  RoundingBounds bounds;
  bounds.likely =
      w * (Ball(model_.lambda) * sqrt(variance) + common) + stored_output(recorded_, w) + lost;
  const Ball relative =
      above_ * growth(1, model_.weight) * growth(2, model_.exponential) / below_ - Ball(1);
  bounds.worst = w * relative + stored_output(recorded_, w * (Ball(1) + relative)) + lost;
  return bounds;
}

// lse = max + ln l. Errors of the scores enter as sum w_k d_k (the scale's as u sum w s);
// ln is within 4 u_e, max and ln l may pass through base 2 (two roundings each), and the
// sum rounds once. Worst case: l is off by the factors above, |ln(1 - t)| > ln(1 + t).
// A weight below the normal range may be lost: n underflows of a sum that is >= 1.
RoundingBounds WeightBound::lse(const Ball& lse) const {
  const Ball n(static_cast<double>(row_.visible + 1));
  const Ball ul2(model_.denominator * model_.denominator);
  const LseParts parts{largest_score_, log_denominator_, lse};
  RoundingBounds bounds;
  bounds.likely =
      Ball(model_.lambda) *
          sqrt(weighted_variance_ + ul2 * sum_variance(n, bound_.likely_row().equal_weights)) +
      Ball(2 * model_.score + model_.exponential) * abs(mean_score_) + normaliser_common() +
      lse_rounding(model_, parts) + stored_output(recorded_, abs(lse)) +
      lse_underflow(model_, row_.visible);
  bounds.worst = worst_lse(model_, below_, row_.visible, parts, recorded_);
  return bounds;
}

}  // namespace gqa
