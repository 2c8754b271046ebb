#include "gqa/audit/precision_model.hpp"

#include <array>
#include <cmath>

namespace gqa {

const PrecisionModel f32_model{"f32",   0x1p-24, 0,       0x1p-24, 0x1p-24,
                               0x1p-24, 0x1p-24, 0x1p-24, -126,    6};

const PrecisionModel* find_precision_model(std::string_view name) {
  return name == f32_model.name ? &f32_model : nullptr;
}

std::vector<std::string_view> model_names() {
  return {f32_model.name};
}

namespace {

Ball square(const Ball& x) {
  return x * x;
}

// gamma(m) = m u / (1 - m u); not finite (nothing is excluded) if m u reaches 1.
Ball gamma(std::int64_t m, double u) {
  const Ball product = Ball(static_cast<double>(m)) * Ball(u);
  return product / (Ball(1) - product);
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
  worst_relative_ = worst_relative();
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

// The relative error bound R with |o^ - o| <= R sum w_j |v_j| before output rounding.
//
// THEORY 2.1 with the model's units. Per key, with M_j = scale |q|_2 |k_j|_2 >= |s_j|:
//   score error   D_j = gamma_s(dk) M_j + 4 u_s |s_j| + u_q |s_j|
//                 (+ 5 u_e |s_j| and 5 u_e |raw_j| where softcap or bias is declared)
//   exponent      D_j + u_e |x_j|, and u_e |x_j| once more for an online softmax, whose
//                 rescalings exp(m_old - m_new) telescope to at most max |x|
//   numerator     rho = exp(max of that) (1 + gamma_e(4 + 4 n)) - 1: exp within 4 u_e, once
//                 for the key and once per tile, of which there are at most n
//   then at most n additions and n rescalings in each sum, one division, one rounding of
//   the weight: R = (1 + rho)(1 + gamma_p(1))(1 + gamma_a(2 n + 2))
//                   / ((1 - rho)(1 - gamma_l(2 n + 2))) - 1.
Ball RoundingBound::worst_relative() const {
  const std::int64_t n = row_.visible + (row_.sink_weight ? 1 : 0);
  const Ball accumulate = gamma(row_.key_size, model_.score);
  Ball exponent;
  for (std::size_t k = 0; k < row_.scores.size(); ++k) {
    const Ball raw = abs(row_.raw_scores[k]);
    Ball error = accumulate * row_.scale * row_.query_norm2 * row_.key_norm2[k] +
                 Ball(4 * model_.score + model_.stored_score) * raw;
    if (!row_.plain) error += Ball(5 * model_.exponential) * (abs(row_.scores[k]) + raw);
    error += Ball(2 * model_.exponential) * abs(row_.scores[k] - largest_score_);
    exponent = max(exponent, error);
  }
  if (row_.sink_score) {
    exponent = max(exponent, Ball(2 * model_.exponential) *
                                 (abs(*row_.sink_score) + abs(*row_.sink_score - largest_score_)));
  }
  const Ball rho = exp(exponent) * (Ball(1) + gamma(4 + 4 * n, model_.exponential)) - Ball(1);
  const Ball above = (Ball(1) + rho) * (Ball(1) + gamma(1, model_.weight)) *
                     (Ball(1) + gamma(2 * n + 2, model_.accumulation));
  const Ball below = (Ball(1) - rho) * (Ball(1) - gamma(2 * n + 2, model_.denominator));
  // A denominator that may vanish bounds nothing: an unbounded ball says so.
  if (!less(Ball(0), Ball(1) - rho).certainly() || !less(Ball(0), below).certainly()) {
    return Ball(1) / Ball(0);
  }
  return above / below - Ball(1);
}

//   var_c    = sum w_j^2 sigma_j^2 (v_jc - o_c)^2 + (u_p^2/3 + u_a^2 n/6) sum w_j^2 v_jc^2
//              + (u_a^2 + u_l^2) n/9 o_c^2
//   likely_c = lambda sqrt(var_c) + (u_s + u_e) sd_w(s) sd_w(v_c) + u_o |o_c|     (THEORY 3)
// plus what underflow can do, as a hard term: a weight below the normal range may be lost
// altogether, 2^emin of value each, and the output may round to a subnormal.
RoundingBounds RoundingBound::column(std::span<const Ball* const> values,
                                     const Ball& output) const {
  const Ball n(static_cast<double>(row_.visible));
  Ball spread = row_.sink_weight ? sink_variance_ * square(output) : Ball();
  Ball squares;
  Ball mean_magnitude;
  Ball largest;
  for (std::size_t k = 0; k < values.size(); ++k) {
    const Ball magnitude = abs(*values[k]);
    spread += weighted_variance_[k] * square(*values[k] - output);
    squares += square(row_.weights[k] * *values[k]);
    mean_magnitude += row_.weights[k] * magnitude;
    largest = max(largest, magnitude);
  }
  const Ball up2(model_.weight * model_.weight);
  const Ball ua2(model_.accumulation * model_.accumulation);
  const Ball ul2(model_.denominator * model_.denominator);
  const Ball variance = spread + (up2 / Ball(3) + ua2 * n / Ball(6)) * squares +
                        (ua2 + ul2) * n / Ball(9) * square(output);
  const Ball smallest(std::ldexp(1.0, model_.minimum_exponent));
  const Ball underflow = smallest * (n * (largest + abs(output)) + Ball(1));
  const Ball common = Ball(model_.score + model_.exponential) * score_deviation_ *
                      weighted_deviation(row_.weights, values, row_.sink_weight, Ball());
  RoundingBounds bounds;
  bounds.likely =
      Ball(model_.lambda) * sqrt(variance) + common + Ball(model_.output) * abs(output) + underflow;
  const Ball moved = worst_relative_ * mean_magnitude;
  bounds.worst = moved + Ball(model_.output) * (abs(output) + moved) + underflow;
  return bounds;
}

}  // namespace gqa
