// Upper bounds of ranks by counting dimensions, and the projections that reach them.
#pragma once

#include <vector>

#include "gqa/theory/generic_rank.hpp"
#include "gqa/theory/rank_configuration.hpp"

namespace gqa {

/// Each gives quantity, shape, upper and bound; the witness is the caller's.

/// `histories` matrices [N, size] side by side; `constant`: each with a column of ones.
GenericRank dictionary_bound(const RankConfiguration& configuration, std::int64_t histories,
                             std::int64_t size, bool constant);

/// Scores of all heads and queries, [G N, N]: a key matrix per history spans the rows.
GenericRank key_axis_bound(const RankConfiguration& configuration, std::int64_t histories);

/// [P_1 V_1 W_1 | ... | P_G V_G W_G], V_h = V if shared, P_h = P if the configuration is tied.
GenericRank stacked_bound(const RankConfiguration& configuration, bool shared);

/// sum P_h V W_h with a model size. Precondition: there is one.
GenericRank summed_bound(const RankConfiguration& configuration);

/// The scores q_hi . k_j with one shared key matrix, [G, N N]: a row per head.
GenericRank head_axis_bound(const RankConfiguration& configuration);

/// Columns of [P_1 V | ... | P_G V] that unit projections W_h show in the stack or, other
/// projections, in the sum. A constant column is chosen last, and once: it is the same in all.
std::vector<std::size_t> projected_columns(const RankConfiguration& configuration);
std::vector<std::size_t> summed_columns(const RankConfiguration& configuration);
/// As projected_columns, for tied patterns and one history per head.
std::vector<std::size_t> own_history_columns(const RankConfiguration& configuration);

}  // namespace gqa
