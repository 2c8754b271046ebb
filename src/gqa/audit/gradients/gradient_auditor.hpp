// Decides the recorded gradients of one history by the rungs of gradient_filter.hpp and
// gradient_enclosure.hpp.
#pragma once

#include <array>
#include <functional>
#include <optional>

#include "gqa/audit/decide/audit_result.hpp"
#include "gqa/audit/gradients/gradient_enclosure.hpp"
#include "gqa/audit/gradients/gradient_filter.hpp"
#include "gqa/audit/work/audit_job.hpp"

namespace gqa {

/// The recorded gradients, [B, Hq, T, dk], [B, Hkv, S, dk] and [B, Hkv, S, dv]; S are the current
/// keys.
struct RecordedGradients {
  std::optional<StridedTensor> query;
  std::optional<StridedTensor> key;
  std::optional<StridedTensor> value;

  const std::optional<StridedTensor>& of(GradientKind kind) const {
    if (kind == GradientKind::query) return query;
    return kind == GradientKind::key ? key : value;
  }
  GradientFormats formats() const;
};

inline constexpr std::array gradient_kinds{GradientKind::query, GradientKind::key,
                                           GradientKind::value};

/// One tally for each kind, in the order of gradient_kinds; absent where nothing was asked.
using GradientTallies = std::array<std::optional<AuditTally>, 3>;

/// Audits one batch entry and KV head: the elements of the gradients that `empty` has tallies for.
/// Under a precision model the smaller of the likely bound and the worst case is what is allowed;
/// where the worst case is not bounded nothing is proved.
/// `until_violation`: where rung 1 finds a violation, what it leaves open is left out.
GradientTallies audit_history(const GradientProblem& gradient, const RecordedGradients& recorded,
                              const AuditOptions& options, const GradientTallies& empty,
                              std::int64_t batch, std::int64_t kv_head,
                              bool until_violation = false);

}  // namespace gqa
