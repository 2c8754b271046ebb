#include "gqa/audit/score_bound.hpp"

#include <utility>

#include "gqa/num/arithmetic.hpp"
#include "gqa/num/roundoff.hpp"

namespace gqa {
namespace {

// The largest error before the score is stored as an output (THEORY 2.1, units of THEORY 3).
//
// ((1 + u_s)^(dk + 6) - 1) scale |q||k|: dk roundings on the way of each product through the sum,
// in any order; the scale may be applied to the result, to one operand, or as its square root to
// both (ONNX): then each term carries at most two rounded square roots of a rounded scale (1.5 u
// each) and two products, 5 roundings, and one in reserve for the second order. Softcap is
// 1-Lipschitz; softcap and bias together round as RoundingBound has it.
Ball worst_score_error(const PrecisionModel& model, const ScoreRounding& s) {
  Ball error =
      (growth(s.key_size + 6, model.score) - Ball(1)) * s.scale * s.query_norm2 * s.key_norm2 +
      Ball(model.stored_score) * abs(s.raw);
  if (!s.plain) error += Ball(5 * model.exponential) * (abs(s.score) + abs(s.raw));
  return error;
}

// THEORY 3's sigma^2 without the exponential, and with 2/3 u_s^2 of the products for scaled
// operands, whose roundings are independent from term to term.
Ball score_output_variance(const PrecisionModel& model, const ScoreRounding& s) {
  const Ball dk(static_cast<double>(s.key_size));
  const Ball products = square(s.scale) * s.query_norm4_squared * s.key_norm4_squared;
  const Ball us2(model.score * model.score);
  const Ball uq2(model.stored_score * model.stored_score);
  const Ball ue2(model.exponential * model.exponential);
  Ball variance =
      us2 * ((dk / Ball(6) + Ball(2) / Ball(3)) * products + dk / Ball(9) * square(s.raw));
  variance += uq2 / Ball(3) * square(s.raw);
  if (!s.plain) variance += ue2 / Ball(3) * (Ball(4) * square(s.score) + square(s.raw));
  return variance;
}

// What one step's underflow can change: the rounding of a stored number and of an inner one.
Ball underflow_of(const PrecisionModel& model) {
  return Ball(model.storage_underflow) + Ball(model.inner_underflow);
}

}  // namespace

// likely = lambda sqrt(variance) + 2 u_s |raw| (a rounded scale, common to all products and so
// no random walk: its rounding and the product's) + u_o |score| + underflow: each product and
// the result may lose an underflow error, dk + 2 of them in all.
RoundingBounds score_bounds(const PrecisionModel& model, const ScoreRounding& s) {
  const Ball lost = Ball(static_cast<double>(s.key_size + 2)) * underflow_of(model);
  RoundingBounds bounds;
  bounds.likely = Ball(model.lambda) * sqrt(score_output_variance(model, s)) +
                  Ball(2 * model.score) * abs(s.raw) + Ball(model.output) * abs(s.score) + lost;
  const Ball moved = worst_score_error(model, s);
  bounds.worst = moved + Ball(model.output) * (abs(s.score) + moved) + lost;
  return bounds;
}

// Numerators: |exponent error| <= E over all keys, with
//   E = max of score error + 2 u_e |x_j| + u_e (|max| + 2 ln l)
// where the last term is for weights taken as exp(s - lse) in a second pass over an lse that
// was stored. Each numerator is then within exp(+-E) and 4 roundings of exp, each tile of an
// online softmax rescales once more (4 u_e, at most n tiles), and the sum takes 2 n + 2.
WeightBound::WeightBound(const PrecisionModel& model, RowRounding rounding)
    : model_(model), row_(std::move(rounding)) {
  const RowRounding& row = row_;
  largest_score_ = row.sink_score ? *row.sink_score : row.scores.front();
  for (const Ball& score : row.scores) largest_score_ = max(largest_score_, score);
  Ball denominator;
  for (const Ball& score : row.scores) denominator += exp(score - largest_score_);
  if (row.sink_score) denominator += exp(*row.sink_score - largest_score_);
  log_denominator_ = log(denominator);
  Ball exponent;
  for (std::size_t k = 0; k < row.scores.size(); ++k) {
    const ScoreRounding score{row.key_size,      row.scale,
                              row.query_norm2,   row.query_norm4_squared,
                              row.key_norm2[k],  row.key_norm4_squared[k],
                              row.raw_scores[k], row.scores[k],
                              row.plain};
    const Ball x = abs(row.scores[k] - largest_score_);
    exponent = max(exponent, worst_score_error(model, score) + Ball(2 * model.exponential) * x);
    variances_.push_back(score_output_variance(model, score) + score_variance(k));
    weighted_variance_ += square(row.weights[k]) * variances_.back();
    mean_score_ += row.weights[k] * row.scores[k];
  }
  if (row.sink_score) {
    const Ball x = abs(*row.sink_score - largest_score_);
    exponent = max(exponent, Ball(2 * model.exponential) * (abs(*row.sink_score) + x));
    weighted_variance_ += square(*row.sink_weight) * sink_variance();
    mean_score_ += *row.sink_weight * *row.sink_score;
  }
  exponent += Ball(model.exponential) * (abs(largest_score_) + Ball(2) * log_denominator_);
  const std::int64_t n = row.visible + (row.sink_weight ? 1 : 0);
  above_ = exp(exponent) * growth(4 + 4 * n, model.exponential);
  below_ = exp(-exponent) * shrinkage(4 + 4 * n, model.exponential) *
           shrinkage(2 * n + 2, model.denominator);
  // A denominator that may vanish bounds nothing: what is not finite excludes nothing.
  if (!less(Ball(0), below_).certainly()) below_ = Ball(1) / Ball(0);
}

// The exponential's own part of sigma^2: u_e^2/3 (s^2 + x^2 + 4).
Ball WeightBound::score_variance(std::size_t k) const {
  const Ball x = row_.scores[k] - largest_score_;
  return Ball(model_.exponential * model_.exponential) / Ball(3) *
         (square(row_.raw_scores[k]) + square(x) + Ball(4));
}

Ball WeightBound::sink_variance() const {
  const Ball x = *row_.sink_score - largest_score_;
  return Ball(model_.exponential * model_.exponential) / Ball(3) *
         (square(*row_.sink_score) + square(x) + Ball(4));
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
  const Ball variance = square(Ball(1) - w) * variances_[k] + weighted_variance_ +
                        (up2 + ue2) / Ball(3) + ul2 * n / Ball(9);
  const Ball common =
      Ball(2 * model_.score + model_.exponential) * abs(row_.scores[k] - mean_score_);
  const Ball lost = Ball(2) * underflow_of(model_);
  RoundingBounds bounds;
  bounds.likely = w * (Ball(model_.lambda) * sqrt(variance) + common + Ball(model_.output)) + lost;
  const Ball relative =
      above_ * growth(1, model_.weight) * growth(2, model_.exponential) / below_ - Ball(1);
  bounds.worst = w * (relative + Ball(model_.output) * (Ball(1) + relative)) + lost;
  return bounds;
}

// lse = max + ln l. Errors of the scores enter as sum w_k d_k (the scale's as u sum w s);
// ln is within 4 u_e, max and ln l may pass through base 2 (two roundings each), and the
// sum rounds once. Worst case: l is off by the factors above, |ln(1 - t)| > ln(1 + t).
// A weight below the normal range may be lost: n underflows of a sum that is >= 1.
RoundingBounds WeightBound::lse(const Ball& lse) const {
  const Ball n(static_cast<double>(row_.visible + 1));
  const Ball ul2(model_.denominator * model_.denominator);
  const Ball rounding = Ball(model_.exponential) * (Ball(2) * abs(largest_score_) +
                                                    Ball(6) * abs(log_denominator_) + abs(lse));
  const Ball lost = (n + Ball(1)) * underflow_of(model_);
  RoundingBounds bounds;
  bounds.likely = Ball(model_.lambda) * sqrt(weighted_variance_ + ul2 * n / Ball(9)) +
                  Ball(2 * model_.score + model_.exponential) * abs(mean_score_) + rounding +
                  Ball(model_.output) * abs(lse) + lost;
  const Ball moved = abs(log(below_)) + rounding;
  bounds.worst = moved + Ball(model_.output) * (abs(lse) + moved) + lost;
  return bounds;
}

}  // namespace gqa
