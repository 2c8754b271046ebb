// When replacing the histories of a group of heads by their mean changes no output.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

#include "gqa/theory/rational_matrix.hpp"

namespace gqa {

/// The histories of the G heads of one group: keys [G, S, dk], values [G, S, dv], all extents >= 1.
struct PooledGroup {
  RationalMatrices keys;
  RationalMatrices values;

  std::size_t heads() const { return keys.size(); }
  std::size_t positions() const { return keys[0].size(); }
};

/// The mean of the matrices.
RationalMatrix mean_of(const RationalMatrices& all);

/// Where a query exists that tells a head's history and the mean history apart.
struct PoolingLoss {
  std::size_t head = 0;
  std::size_t positions = 0;  ///< of the first so many
  RationalVector key_sum;
  RationalVector difference;  ///< not zero
};

/// Which keys a query sees.
enum class PooledPositions {
  all,           ///< all S
  every_prefix,  ///< the first n, for each n from 1 to S: causal attention while a cache grows
};

/// Does pooling change an output of some head for some query? nullopt: of none, for any query in
/// R^dk, at any scale but 0.
///
/// Exact condition: with k_j, v_j the head's history and K_l, V_l the mean history, both outputs
/// are equal for every query exactly if for every vector t
///
///   sum over the pairs (j, l) with k_j + K_l = t of (v_j - V_l) = 0.
///
/// For the difference of the two outputs is sum over all pairs of exp(q.(k_j + K_l)) (v_j - V_l),
/// divided by a positive number, and exponentials of distinct linear forms in q are linearly
/// independent. In particular it is lossless if the heads have equal values and keys that differ
/// by one constant vector for each head; and if all sums are distinct, only if all values are one.
///
/// Errors: InputError "pooling.shape" at "keys" or "values".
std::optional<PoolingLoss> pooling_loss(const PooledGroup& group, PooledPositions positions);

/// The certificate "pooling_loss", or "pooling_lossless" for nullopt.
nlohmann::ordered_json certificate_of(const std::optional<PoolingLoss>& loss,
                                      const PooledGroup& group, PooledPositions positions);

/// A query with rational strengths at which the outputs differ: exp(query_c / key_scale) =
/// bases[c].
struct PoolingWitness {
  RationalVector bases;
  Rational key_scale;
  RationalVector own;     ///< the head's output
  RationalVector pooled;  ///< with the mean history
};

/// The first of the queries 0, 1, 2, ... times key_scale (ln 2, ln 3, ln 5, ...) at which the
/// head's output changes; one comes before as many as there are distinct key sums (Vandermonde).
/// nullopt if the keys are too large, or of too large denominators, for exact powers of moderate
/// size.
std::optional<PoolingWitness> pooling_witness(const PooledGroup& group, std::size_t head);

/// The certificate "counterexample" of the identity mean_pooled_output.
nlohmann::ordered_json certificate_of(const PoolingWitness& witness, const PooledGroup& group,
                                      std::size_t head);

/// The exact loss of every head at equal scores (a zero query): own mean value - pooled mean value.
RationalMatrix pooling_loss_at_equal_scores(const PooledGroup& group);

/// The smallest integer histories of q_heads heads whose pooling to kv_heads loses: one position,
/// keys and values of size 1, all zero but one value of 1. Smaller is fewer positions, then
/// smaller sizes, then a smaller sum of absolute entries; that sum 0 is lossless, so 1 is least.
/// nullopt where nothing is ever lost: as many KV heads as query heads.
/// Errors: InputError "pooling.heads_not_divisible" at "kv_num_heads".
std::optional<PooledGroup> smallest_pooling_loss(std::int64_t q_heads, std::int64_t kv_heads);

/// The same with values that all heads share: two positions with values 0 and 1, and one key of 1.
/// With one position, one value, or equal keys nothing is lost.
std::optional<PooledGroup> smallest_key_pooling_loss(std::int64_t q_heads, std::int64_t kv_heads);

}  // namespace gqa
