#include "gqa/audit/gradients/gradient_model.hpp"

#include <algorithm>

namespace gqa {

// Where operands are stored in 16 bits between operations (stored_score), the eager formula has
// them. sqrt(2/3) u per product is at most u sqrt(dk/6) from four columns on; the worst case counts
// more.
PrecisionModel backward_model(const PrecisionModel& model) {
  PrecisionModel backward = model;
  // Accumulators that truncate err by up to twice as much.
  backward.score = model.worst_score();
  backward.accumulation = model.worst_accumulation();
  if (model.operand > 0 && model.stored_score == 0) {
    backward.score = std::max(backward.score, model.operand);
    backward.accumulation = std::max(backward.accumulation, model.value);
  }
  return backward;
}

GradientRoundings gradient_roundings(const PrecisionModel& model, const GradientProblem& gradient) {
  const AttentionProblem& problem = gradient.problem;
  const Dimensions& d = problem.dimensions;
  return {model,
          d.key_size,
          d.value_size,
          problem.contract.softcap.get_d(),
          problem.has_bias(),
          problem.scale_double(),
          gradient.storage_roundoff,
          gradient.storage_underflow};
}

GradientTiny gradient_tiny(const PrecisionModel& model, const GradientProblem& gradient,
                           const GradientFacts& facts, GradientKind kind) {
  const double inner = model.inner_underflow;
  const double weight = gradient_tiny_weight(model);
  double grad_norm = 0;
  for (const double norm : facts.grad_norm) grad_norm = std::max(grad_norm, norm);
  // Of one derivative: a weight's, twice the difference at most, and its own stores, of which the
  // likely bound of rung 1 counts 2 sqrt(3).
  // Stored before and after the scale, which multiplies the whole sum in the end.
  const double stores = std::max(1.0, 1 / gradient.problem.scale_double());
  const double score = 2 * (weight * (2 * grad_norm * facts.value_norm + facts.largest_grad_lse) +
                            stores * (2 * model.weight_underflow + 6 * inner));
  const double scale = std::max(1.0, gradient.problem.scale_double());
  const auto heads = static_cast<double>(facts.heads.size());
  const double rows = static_cast<double>(facts.rows());
  const double keys = static_cast<double>(gradient.problem.dimensions.keys);
  switch (kind) {
    case GradientKind::query:
      return {score * facts.key_share_sum,
              (keys + 8) * 4 * inner * scale + gradient.storage_underflow};
    case GradientKind::key:
      return {score * facts.query_share_sum,
              (rows + 8) * 4 * inner * scale + heads * gradient.storage_underflow};
    case GradientKind::value:
      return {weight * facts.grad_share_sum,
              (rows + 8) * 4 * inner + heads * gradient.storage_underflow};
  }
  return {};
}

}  // namespace gqa
