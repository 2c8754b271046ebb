// Pooling at the level of weights: checkpoint conversion from many KV heads to fewer.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "gqa/num/float_format.hpp"
#include "gqa/theory/rational_matrix.hpp"

namespace gqa {

/// Why pooling the projections of a group changes the output for some input.
enum class WeightPoolingLoss {
  values_differ,  ///< the value projections are not all equal
  scores_differ,  ///< they are equal and not zero, and a head's scores change
};

/// The mean of projection matrices projects to the mean of histories, exactly, for every input
/// (projections without bias are linear). So pooling weights is pooling histories; over all inputs
/// together the condition is simpler than for one history.
///
/// Lossless for every input of at least two positions, causal or not, without rotary embedding or
/// normalised keys, exactly if all value_weights are equal, and either they are zero or for
/// every head Wq_h^T (Wk_h - mean Wk) = 0. Where no query_weights are given (queries from
/// elsewhere), the last is Wk_h = mean Wk. For with positions y, x the output at x changes by
/// (w - w') Wv (y - x), and both factors are non-zero for some x, y as soon as both matrices are.
///
/// Shapes: key_weights [G, dk, D], value_weights [G, dv, D], query_weights [G, dk, D] or empty.
/// Errors: InputError "pooling.shape" at the argument.
/// nullopt: lossless.
std::optional<WeightPoolingLoss> weight_pooling_loss(const RationalMatrices& key_weights,
                                                     const RationalMatrices& value_weights,
                                                     const RationalMatrices& query_weights);

/// The certificate "weight_pooling_loss" with the inputs that show it, or "weight_pooling_lossless"
/// for nullopt.
/// Precondition: `loss` is weight_pooling_loss of the same weights.
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
