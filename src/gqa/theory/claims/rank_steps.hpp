// Steps of arguments about ranks.
#pragma once

#include <string>

#include "gqa/theory/claim.hpp"
#include "gqa/theory/claims/instances.hpp"
#include "gqa/theory/rank.hpp"

namespace gqa::claim_instances {

/// A group with keys as wide as values.
RankConfiguration rank_group(std::int64_t group_size, std::int64_t positions,
                             std::int64_t value_size);

/// Requires that the generic rank of the quantity is proved to be `expected`.
void require_rank(Argument& argument, const RankConfiguration& configuration,
                  const std::string& quantity, std::int64_t expected);

/// Requires that every quantity whose name starts with `prefix` is proved, for G, d_v from 1 to 3
/// and N from 1 to 10, plain, causal, windowed and with shared keys; tells how many.
void require_all_proved(Argument& argument, const std::string& prefix);

/// The stacked outputs of the witness, in rationals.
Matrix exact_stack(const RankConfiguration& configuration, std::uint64_t seed = 1);

}  // namespace gqa::claim_instances
