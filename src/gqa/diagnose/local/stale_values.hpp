// Keys of the wrong rows that take the values of other keys, or of another head or batch entry.
#pragma once

#include <optional>

#include "gqa/diagnose/local/local_evidence.hpp"

namespace gqa {

/// A buffer of values that was not loaded, or loaded from elsewhere. A row that gives the keys of
/// tile t the values v' of others has o - o' = sum over t of w_j (v_j - v'_j): the tile and the
/// source with the least residual, for tiles of 128, 64, 32, 16 and 1 keys.
std::optional<Explanation> stale_values(const LocalEvidence& evidence);

}  // namespace gqa
