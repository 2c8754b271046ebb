// Heads to be pooled, from JSON or safetensors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "gqa/attention/typed_tensor.hpp"
#include "gqa/theory/pooling_condition.hpp"
#include "gqa/theory/weight_pooling.hpp"

namespace gqa {

/// Exact tensors by name. From safetensors a value is exactly what its bits are.
struct PoolInput {
  std::map<std::string, Tensor<Rational>> tensors;
  const FloatFormat* format = nullptr;  ///< of `pooled`, if it is stored in one
  LayerDeclaration layer;               ///< of projections

  bool has(const std::string& name) const { return tensors.contains(name); }
};

/// Reads `key` and `value` ([H, S, size] or, from safetensors only, [B, H, S, size]); or
/// `key_weight`, `value_weight` and perhaps `query_weight` ([H, size, D]), `key_bias`, `value_bias`
/// and `query_bias` ([H, size]) and, in JSON, `layer` (layer_from_json); or `heads` and `pooled`
/// (heads along the first axis; in JSON [H, n]).
///
/// Errors: InputError at "FILE: name": "pooling.no_tensors" (at FILE) for another set of names,
/// "pooling.shape", "rational.not_finite", and those of the readers.
PoolInput read_pool_input(const std::filesystem::path& path);

/// Puts a declared layer in the place of that of the file.
/// Errors: those of layer_from_json; InputError "pooling.no_projections" at `where` if there are no
/// projections to which it could apply.
void declare_layer(PoolInput& input, const nlohmann::json& layer, const std::string& where);

/// The projections of the heads of group g, with their biases and layer.
/// Errors: "pooling.heads_not_divisible".
ProjectionGroup projections_of_group(const PoolInput& input, std::int64_t kv_heads,
                                     std::int64_t kv_head);

/// One group of one batch entry.
struct PlacedGroup {
  std::int64_t batch = 0;
  std::int64_t kv_head = 0;
  PooledGroup group;
};

/// The groups of `key` and `value` when pooled to kv_heads.
/// Errors: InputError "pooling.heads_not_divisible" at "kv_num_heads"; "pooling.shape" at "value".
std::vector<PlacedGroup> groups_of(const PoolInput& input, std::int64_t kv_heads);

/// The heads of group g of a [H, rows, columns] tensor.
/// Errors: as groups_of.
RationalMatrices heads_of_group(const Tensor<Rational>& tensor, std::int64_t kv_heads,
                                std::int64_t kv_head);

}  // namespace gqa
