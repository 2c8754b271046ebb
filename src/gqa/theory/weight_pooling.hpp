// Pooling at the level of weights: checkpoint conversion from many KV heads to fewer.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gqa/num/float_format.hpp"
#include "gqa/theory/projection_group.hpp"
#include "gqa/theory/rational_matrix.hpp"

namespace gqa {

/// Why pooling the projections of a group changes the output for some input.
enum class WeightPoolingLoss {
  values_differ,  ///< the value projections are not all equal
  scores_differ,  ///< they are equal and not zero, and a head's scores change
};

/// Pooling replaces projections (and their biases) of keys and values by their mean. Is it lossless
/// for every text of inputs, causal or not, of any length? Scores are scaled products, without
/// softcap, and softmax is without a sink.
///
/// The values must be equal: one position shows them. If they are constant, nothing else matters.
/// Otherwise let K_h = Wk_h - mean Wk, b_h the difference of the biases, R the rotation by one
/// position, and q any query of the head. The score of input y at distance t changes by
/// q.R^-t (K_h y + b_h), and no weight changes exactly if that is the same for all keys of a row:
///
///   q.R^t K_h = 0 and q.(R^t - 1) b_h = 0 for all q and t.
///
/// - Without rotary embedding, R = 1: Wq_h^T K_h = 0 (and bq_h.K_h = 0); key biases change nothing.
/// - Rotations stated: t = 1, ..., dk suffice, for R is a root of its characteristic polynomial,
///   whose constant term is not zero, so the sequences obey a recurrence in both directions (of one
///   degree more with the factor R^t - 1, which is zero at t = 0).
/// - Distinct angles strictly between 0 and pi: exp(i t angle) of them, their conjugates and 1 are
///   linearly independent sequences, so in each plane, for a = q and d = K_h y + b_h there,
///   a.d = a.Jd = 0, hence |a|^2 |d|^2 = 0: the plane's rows of Wq_h and bq_h are zero, or those of
///   K_h and b_h are. The coordinates not rotated are as without rotary embedding.
/// - A normalised query is a positive multiple of g o q: only its factors count.
/// - Normalised keys g o k / sqrt(|k|^2 / dk + epsilon), without bias: with y = 0 the change at any
///   distance is zero, so m.Wk_h y / sqrt(..) = m.mean Wk y / sqrt(..) for m = g o R^t q. Scaling y
///   toward 0 gives m.Wk_h = m.mean Wk, and where these are not zero the roots agree:
///   Wk_h^T Wk_h = mean Wk^T mean Wk.
///
/// Where a score changes, the least such distance t gives a text of t + 1 positions that loses.
///
/// Errors: InputError "pooling.shape" at the argument; "pooling.normalised_bias" at "key_biases":
/// biases of keys that are normalised; "pooling.no_query" at "query_biases" or "query_norm", which
/// queries from elsewhere have not.
/// nullopt: lossless.
std::optional<WeightPoolingLoss> weight_pooling_loss(const ProjectionGroup& group);

/// Without biases, rotary embedding and normalisation.
std::optional<WeightPoolingLoss> weight_pooling_loss(const RationalMatrices& key_weights,
                                                     const RationalMatrices& value_weights,
                                                     const RationalMatrices& query_weights);

/// The certificate "weight_pooling_loss" with the inputs that show it, or "weight_pooling_lossless"
/// for nullopt.
/// Precondition: `loss` is weight_pooling_loss of the same group.
nlohmann::ordered_json certificate_of(const std::optional<WeightPoolingLoss>& loss,
                                      const ProjectionGroup& group);
nlohmann::ordered_json certificate_of(const std::optional<WeightPoolingLoss>& loss,
                                      const RationalMatrices& key_weights,
                                      const RationalMatrices& value_weights,
                                      const RationalMatrices& query_weights);

/// Ways in which checkpoints have been converted; only the first is mean pooling for the usual
/// (contiguous) head map.
/// Source: Ainslie et al., GQA (2023), section 2.1.
enum class PoolingRule { contiguous_mean, strided_mean, contiguous_sum, first_of_group };

std::string name(PoolingRule rule);

/// heads [H, n] -> [kv_heads, n]. Head h belongs to KV head floor(h / (H / kv_heads)), for the
/// strided rule to h mod kv_heads.
/// Errors: InputError "pooling.heads_not_divisible" at "kv_num_heads".
RationalMatrix pooled_by(PoolingRule rule, const RationalMatrix& heads, std::size_t kv_heads);

/// How well one rule explains pooled weights.
struct RuleMatch {
  PoolingRule rule;
  bool matches;  ///< every element equals the rule's, rounded once to the format if there is one
  Rational max_difference;
};

/// All four rules against pooled [kv_heads, n] made from heads [H, n].
/// Errors: as pooled_by; "pooling.shape" at "pooled".
std::vector<RuleMatch> identify_pooling(const RationalMatrix& heads, const RationalMatrix& pooled,
                                        const FloatFormat* format);

}  // namespace gqa
