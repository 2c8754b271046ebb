// Rung 1 of audited gradients: binary64 through BLAS, with a radius for every element from an
// a-priori bound (derived in gradient_bound.hpp).
#pragma once

#include <cstdint>

#include "gqa/audit/gradients/history_gradients.hpp"

namespace gqa {

/// Result: for every row that is not open, radius() encloses the exact gradient under the
/// problem's rule. Bit for bit the same for every number of threads if the BLAS is deterministic.
/// Memory: that of the three gradients, at most nine times; nothing grows with T S.
/// Errors: those of filter_reference.
HistoryGradients gradient_reference(const GradientProblem& gradient, std::int64_t batch,
                                    std::int64_t kv_head, const GradientFilterOptions& options);

}  // namespace gqa
