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
  for (std::size_t k = 0; k < row.scores.size(); ++k) {
    weighted_variance_.push_back(square(row.weights[k]) * score_variance(k));
  }
  std::vector<const Ball*> scores;
  for (const Ball& score : row.scores) scores.push_back(&score);
  score_deviation_ =
      weighted_deviation(row.weights, scores, row.sink_weight, row.sink_score.value_or(Ball()));
  if (row.sink_weight) {
    const Ball x = *row.sink_score - largest_score_;
    const Ball sigma = Ball(model.exponential * model.exponential) / Ball(3) *
                       (square(*row.sink_score) + square(x) + Ball(4));
    sink_variance_ = square(*row.sink_weight) * sigma;
  }
  weight_coherence_ = coherence(Ball(model.weight), key_score_deviation(row));
  Ball total;
  Ball squares;
  for (const Ball& weight : row.weights) {
    total += weight;
    squares += square(weight);
  }
  const Ball deviation = deviation_of(total, squares, Ball(static_cast<double>(row.visible)));
  denominator_drift_ = Ball(model.denominator) * coherence(Ball(2 * model.denominator), deviation);
  find_worst_factors();
}

// sigma_j^2 = u_s^2 (dk/6 scale^2 |q|_4^2 |k_j|_4^2 + dk/9 s_j^2) + u_q^2/3 s_j^2
//             + u_e^2/3 (s_j^2 + x_j^2 + 4)                                   (THEORY 3)
// Softcap and bias, where declared, round the score they leave: 4 + 1 further roundings of
// relative size u_e (tanh, its argument, the product, the addition); softcap itself is
// 1-Lipschitz, so the earlier error passes through undiminished at most.
Ball RoundingBound::score_variance(std::size_t k) const {
  const Ball dk(static_cast<double>(row_.key_size));
  const Ball raw = square(row_.raw_scores[k]);
  const Ball score = square(row_.scores[k]);
  const Ball x = square(row_.scores[k] - largest_score_);
  const Ball products = square(row_.scale) * row_.query_norm4_squared * row_.key_norm4_squared[k];
  const Ball us2(model_.score * model_.score);
  const Ball uq2(model_.stored_score * model_.stored_score);
  const Ball ue2(model_.exponential * model_.exponential);
  Ball variance = us2 * (dk * products / Ball(6) + dk * raw / Ball(9));
  variance += uq2 / Ball(3) * raw;
  variance += ue2 / Ball(3) * (raw + x + Ball(4));
  if (!row_.plain) variance += ue2 / Ball(3) * (Ball(4) * score + raw);
  return variance;
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

//   var_c    = sum w_j^2 sigma_j^2 (v_jc - o_c)^2 + (u_p^2/3 + u_a^2 n/6) sum w_j^2 v_jc^2
//              + (u_a^2 + u_l^2) n/9 o_c^2
//   likely_c = lambda sqrt(var_c) + (u_s + u_e) sd_w(s) sd_w(v_c) + u_o |o_c|     (THEORY 3)
// With t_p, t_i the storage's and the inner underflow, further
//   in var_c:    (t_p^2 + t_i^2)/3 sum v_jc^2 + 2 t_i^2/3 n (1 + o_c^2): a weight below the
//                normal range, its product with v, and the sums' rescalings;
//   in likely_c: (u_p |o_c| + t_p |sum v_jc|) u_p / max(u_p, sd_w(s)): weights that are equal
//                round equally. Spread over more than a few roundings, they do not: the mean
//                of a sawtooth of period 2 u_p over a spread sd falls faster than u_p / sd;
//                n/2 |o_c| (u_a k(2 u_a |o_c|, sd(w_j v_jc)) + u_l k(2 u_l, sd(w_j))), with
//                k(q, sd) = q / max(q, sd) and sd over the keys: a running sum of equal terms
//                rounds the same way for half its length or stalls. Terms that spread by more
//                than the last partial sum's spacing q do not.
RoundingBounds RoundingBound::column(std::span<const Ball* const> values,
                                     const Ball& output) const {
  const Ball n(static_cast<double>(row_.visible));
  Ball spread = row_.sink_weight ? sink_variance_ * square(output) : Ball();
  Ball weighted_sum;
  Ball weighted_squares;
  Ball squares;
  Ball sum;
  Ball mean_magnitude;
  Ball largest;
  for (std::size_t k = 0; k < values.size(); ++k) {
    const Ball magnitude = abs(*values[k]);
    spread += weighted_variance_[k] * square(*values[k] - output);
    const Ball term = row_.weights[k] * *values[k];
    weighted_sum += term;
    weighted_squares += square(term);
    squares += square(*values[k]);
    sum += *values[k];
    mean_magnitude += row_.weights[k] * magnitude;
    largest = max(largest, magnitude);
  }
  const Ball up2(model_.weight * model_.weight);
  const Ball ua2(model_.accumulation * model_.accumulation);
  const Ball ul2(model_.denominator * model_.denominator);
  const Ball stored(model_.storage_underflow);
  const Ball inner(model_.inner_underflow);
  const Ball tiny = (square(stored) + square(inner)) / Ball(3) * squares +
                    square(inner) * Ball(2) / Ball(3) * n * (Ball(1) + square(output));
  const Ball variance = spread + (up2 / Ball(3) + ua2 * n / Ball(6)) * weighted_squares +
                        (ua2 + ul2) * n / Ball(9) * square(output) + tiny;
  const Ball common = Ball(model_.score + model_.exponential) * score_deviation_ *
                          weighted_deviation(row_.weights, values, row_.sink_weight, Ball()) +
                      weight_coherence_ * (Ball(model_.weight) * abs(output) + stored * abs(sum));
  const Ball drift =
      denominator_drift_ +
      Ball(model_.accumulation) * coherence(Ball(2 * model_.accumulation) * abs(output),
                                            deviation_of(weighted_sum, weighted_squares, n));
  const Ball roundoff(model_.output_roundoff(*row_.output_format));
  const Ball output_tiny(model_.output_underflow(*row_.output_format));
  RoundingBounds bounds;
  bounds.likely = Ball(model_.lambda) * sqrt(variance) + common +
                  n / Ball(2) * drift * abs(output) + max(roundoff * abs(output), output_tiny);
  if (!less(Ball(0), denominator_least_).certainly()) {
    bounds.worst = Ball(1) / Ball(0);  // a denominator that may vanish bounds nothing
    return bounds;
  }
  // The weight, the exp of a rescaling times the sum so far, a product with v, a rescaling.
  const Ball lost = tiny_amplification_ * ((Ball(2) * inner + stored) * largest + Ball(2) * inner +
                                           (Ball(4) * inner + stored) * abs(output));
  const Ball moved = (numerator_error_ * mean_magnitude + denominator_error_ * abs(output) + lost) /
                     denominator_least_;
  bounds.worst = moved + max(roundoff * (abs(output) + moved), output_tiny);
  return bounds;
}

}  // namespace gqa
