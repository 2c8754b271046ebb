#include "gqa/audit/models/worst_bound.hpp"

#include "gqa/num/roundoff.hpp"

namespace gqa {
namespace {

// Softcap and bias round once more what they are given.
Ball later_growth(const PrecisionModel& model) {
  return growth(6, model.exponential) * growth(2, model.stored_score);
}

}  // namespace

// With D = max D_j and S = max |s_j|, a difference of two computed scores is at most |x_j| + 2 D.
// The key's own difference and the later steps of the running maximum, which telescope, are each
// rounded as a difference, times a rounded log2(e): 4 u_e (|x_j| + 2 D) with what is of second
// order. Where exp2(s c - m c) is fused otherwise, s c and m c are rounded: 2 u_e (S + D). Merging
// by log-sum-exp rounds a logarithm of at most S + D + ln n twice: 2 u_e (S + D + ln n + 1).
Ball largest_exponent_error(const PrecisionModel& model, const RowExtremes& row) {
  const Ball terms(static_cast<double>(row.visible + 1));
  return row.score_error + Ball(4 * model.exponential) * (row.distance + Ball(3) * row.score_error +
                                                          row.magnitude + log(terms) + Ball(1));
}

// dk products, a scaled operand each (times |k|_1 <= sqrt(dk) |k|_2), the scaling; s / c may
// underflow and is multiplied by c.
Ball score_underflow(const PrecisionModel& model, const ScoreMagnitudes& m) {
  const Ball root = sqrt(Ball(static_cast<double>(m.key_size)));
  const Ball tiny = Ball(model.inner_underflow) * max(Ball(1), m.scale) *
                    (root * (root + m.query_norm2 + m.key_norm2) + Ball(2));
  if (m.plain) return tiny;
  return later_growth(model) * tiny + Ball(6 * model.inner_underflow) * max(Ball(1), m.softcap);
}

// D_j. Every term q_t k_t goes through at most dk roundings of the product and the sum, one each
// where query and key are scaled first, and 4 for the scale and its product, its operands are
// rounded once each, and it is stored twice at most; all relative to M_j = scale |q|_2 |k_j|_2, and
// so is what underflow adds before. Softcap is 1-Lipschitz, so that what was there passes
// undiminished at most. With bias it adds 6 roundings of |s_j| + |raw_j|, which also bounds |bias|
// (where two biases are added one by one, their magnitudes once more), and is stored twice at most.
Ball largest_score_error(const PrecisionModel& model, const ScoreMagnitudes& m) {
  const Ball grown = growth(m.key_size + 6, model.worst_score()) * growth(2, model.stored_score) *
                     growth(2, model.operand);
  const Ball error =
      (grown - Ball(1)) * m.scale * m.query_norm2 * m.key_norm2 + grown * score_underflow(model, m);
  if (m.plain) return error;
  const Ball further = later_growth(model);
  return further * error + (further - Ball(1)) * (m.score + m.raw + m.bias);
}

// Of n keys (the sink counted) in at most n tiles, a weight's numerator is computed within
//   P = exp(E) (1 + 4 u_e)^(n + 2): its own exp, one per tile, one of a merge and its log,
// and goes through at most n additions, n rescalings, the product with v and 3 for the
// division and a merge. With alpha, beta the relative errors of the terms of both sums,
//   |o^ - o| <= (alpha sum w |v| + beta |o| + underflow) / (computed / exact denominator),
// as for the filter (filter_bound.hpp) with the model's units; values are rounded once. Weights
// below the normal range lose an absolute amount; relative to the shift of the kernel the exact
// denominator is at least exp(-D) >= 1 / P, and normalised weights are not divided at all.
WorstBound::WorstBound(const PrecisionModel& model, const RowExtremes& row) : model_(model) {
  const std::int64_t n = row.visible + (row.sink ? 1 : 0);
  const Ball exponent = largest_exponent_error(model, row);
  const Ball above = exp(exponent) * growth(n + 2, 4 * model.exponential) * growth(1, model.weight);
  const Ball below =
      exp(-exponent) * shrinkage(n + 2, 4 * model.exponential) * shrinkage(1, model.weight);
  const Ball terms(static_cast<double>(n));
  numerator_error_ =
      above * growth(2 * n + 4, model.worst_accumulation()) * growth(1, model.value) - Ball(1);
  denominator_error_ = above * growth(2 * n + 4, model.denominator) - Ball(1);
  tiny_amplification_ = terms * above * (Ball(1) + max(numerator_error_, denominator_error_));
  denominator_least_ =
      below * shrinkage(2 * n + 4, model.denominator) -
      tiny_amplification_ * Ball(4 * model.inner_underflow + model.weight_underflow);
}

Ball WorstBound::operator()(const ColumnMagnitudes& column, const FormatRounding& recorded) const {
  if (!is_bounded().certainly()) return Ball(1) / Ball(0);
  // The weight, the exp of a rescaling times the sum so far, a product with v, a rescaling.
  const Ball stored(model_.weight_underflow);
  const Ball inner(model_.inner_underflow);
  const Ball lost =
      tiny_amplification_ * ((Ball(2) * inner + stored) * column.largest + Ball(2) * inner +
                             (Ball(4) * inner + stored) * column.output);
  const Ball moved = (numerator_error_ * column.mean + denominator_error_ * column.output + lost) /
                     denominator_least_;
  return moved + max(Ball(recorded.roundoff) * (column.output + moved), Ball(recorded.underflow));
}

}  // namespace gqa
