// Recorded gradients against both bounds of a model, in binary64.
#pragma once

#include <array>
#include <cmath>

#include "audit/gradient_support.hpp"
#include "audit/rounded_gradients.hpp"
#include "gqa/audit/gradients/gradient_bounds.hpp"

namespace gqa::test {

/// The largest error over what is allowed, of grad_query, grad_key and grad_value: surely at least
/// that. NaN counts as infinite.
struct GradientShares {
  std::array<double, 3> allowed{};  ///< over the smaller bound
  std::array<double, 3> worst{};    ///< over the worst case, where it is bounded
  std::int64_t elements = 0;
  std::int64_t unknown = 0;  ///< left to the enclosures
};

inline GradientShares gradient_shares(const ProblemTensors& tensors, const Contract& contract,
                                      const PrecisionModel& model) {
  const AttentionProblem problem = make_problem(tensors, contract);
  AuditOptions options;
  options.tolerance = ModelTolerance{&model};
  const GradientAudit audit(problem, tensors, options);
  GradientFilterOptions filter;
  filter.model = &model;
  GradientShares shares;
  for (std::int64_t kv_head = 0; kv_head < problem.dimensions.kv_heads; ++kv_head) {
    const HistoryGradients found = gradient_reference(audit.problem(), 0, kv_head, filter);
    const WantedRows all{std::vector<char>(found.rows.size(), 1),
                         std::vector<char>(static_cast<std::size_t>(problem.dimensions.keys), 1),
                         std::vector<char>(static_cast<std::size_t>(problem.dimensions.keys), 1)};
    const GradientBounds bounds(audit.problem(), found, model, audit.recorded().formats(), all);
    for (const GradientKind kind : audit.kinds()) {
      const auto k = static_cast<std::size_t>(kind);
      const GradientPart& part = std::array{&found.query, &found.key, &found.value}[k][0];
      const StridedTensor& recorded = *audit.recorded().of(kind);
      const auto rows = static_cast<std::size_t>(recorded.shape()[2]);
      for (std::size_t r = 0; r < part.open.size(); ++r) {
        if (part.open[r] != 0) continue;
        const std::int64_t head =
            kind == GradientKind::query ? found.facts.heads[r / rows] : kv_head;
        for (std::size_t c = 0; c < static_cast<std::size_t>(recorded.shape()[3]); ++c) {
          const double value = recorded.value(0, head, static_cast<std::int64_t>(r % rows),
                                              static_cast<std::int64_t>(c));
          const double radius = part.radius(r, c);
          const auto element =
              bounds.element(kind, r, c, radius, magnitude_interval(part.value(r, c), radius));
          const double error = std::abs(value - part.value(r, c)) - radius;
          if (!element.is_known) {
            ++shares.unknown;
            continue;
          }
          const double share = error <= 0 ? 0 : error / element.likely.upper;
          ++shares.elements;
          if (!(share <= shares.allowed[k])) shares.allowed[k] = share;
          if (element.is_bounded && !(error / element.worst.upper <= shares.worst[k])) {
            shares.worst[k] = error / element.worst.upper;
          }
        }
      }
    }
  }
  return shares;
}

}  // namespace gqa::test
