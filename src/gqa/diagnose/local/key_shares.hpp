// How often a wrong row has counted each of its keys.
#pragma once

#include <optional>

#include "gqa/diagnose/local/local_evidence.hpp"

namespace gqa {

/// Some keys of the wrong rows are left out, counted twice, or have another weight in both sums.
///
/// Derivation. With weights w_j (sink's aside, sum w_j = 1 - w_sink) a row that took key j with
/// share c_j in numerator and denominator holds o' with sum_j c_j w_j (v_j - o') = w_sink o', and
/// without a fault o - o' = sum_j w_j (v_j - o') - w_sink o'. The difference,
///
///     o - o' = sum_j (1 - c_j) D_j,   D_j = w_j (v_j - o'),
///
/// is linear in the shares, although the normalisation is not, because o' is known. The columns of
/// some rows give many equations; what one block of keys alone explains of the left side is tried
/// for aligned blocks of every size, and around the best of them the shares of single keys follow
/// by least squares, each with its standard error.
std::optional<Explanation> deviating_key_shares(const LocalEvidence& evidence);

/// "key 77", "keys 64 to 127 (a tile of 64)".
std::string describe_keys(const IndexRange& keys);

}  // namespace gqa
