#include "gqa/audit/gradient_model.hpp"

#include <algorithm>

namespace gqa {

GradientTiny gradient_tiny(const PrecisionModel& model, const GradientProblem& gradient,
                           const GradientFacts& facts, GradientKind kind) {
  const double inner = model.inner_underflow;
  const double weight = gradient_tiny_weight(model);
  double grad_norm = 0;
  for (const double norm : facts.grad_norm) grad_norm = std::max(grad_norm, norm);
  // Of one derivative: a weight's, twice the difference at most, and its own stores.
  const double score =
      2 * (2 * weight * grad_norm * facts.value_norm + model.storage_underflow + 6 * inner);
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
