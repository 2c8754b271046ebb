#include "gqa/theory/pool_input.hpp"

#include <fmt/format.h>

#include <set>

#include "gqa/error.hpp"
#include "gqa/exact/json_fields.hpp"
#include "gqa/io/file.hpp"
#include "gqa/io/json.hpp"
#include "gqa/io/safetensors.hpp"
#include "gqa/theory/exact_input.hpp"

namespace gqa {
namespace {

using Names = std::set<std::string>;
const Names histories{"key", "value"};
const Names required_weights{"key_weight", "value_weight"};
const Names optional_weights{"query_weight", "key_bias", "value_bias", "query_bias"};
const Names conversion{"heads", "pooled"};

bool is_bias(const std::string& name) {
  return name.ends_with("_bias");
}
std::size_t rank_of(const std::string& name) {
  return conversion.contains(name) || is_bias(name) ? 2 : 3;
}

Names known_names() {
  Names known = histories;
  for (const Names* more :
       std::initializer_list<const Names*>{&required_weights, &optional_weights, &conversion}) {
    known.insert(more->begin(), more->end());
  }
  return known;
}

PoolInput from_json(const std::filesystem::path& path) {
  const nlohmann::json document = parse_json_strictly(read_text_file(path), path.string());
  require_moderate_exponents(document, path.string());
  Names known = known_names();
  known.insert("layer");
  fixture_reader.require_known(document, known, path.string(), fixture_format);
  PoolInput input;
  for (const auto& [name, value] : document.items()) {
    if (name == "layer") continue;
    input.tensors[name] =
        tensor_from_json(value, rank_of(name), fmt::format("{}: {}", path.string(), name));
  }
  if (document.contains("layer")) {
    declare_layer(input, document.at("layer"), path.string() + ": layer");
  }
  return input;
}

// Other tensors of a safetensors file are none of ours.
PoolInput from_safetensors(const std::filesystem::path& path) {
  const SafetensorsFile file = read_safetensors(path);
  PoolInput input;
  for (const auto& [name, typed] : file.tensors) {
    if (!known_names().contains(name)) continue;
    const std::string where = fmt::format("{}: {}", path.string(), name);
    const Tensor<double> decoded = decode(typed, where);
    std::vector<Rational> exact;
    for (const double x : decoded.data()) exact.push_back(rational_from_double(x, where));
    input.tensors[name] = Tensor<Rational>(typed.shape, std::move(exact));
    if (name == "pooled") input.format = float_format(typed.type);
  }
  return input;
}

void require_shapes(const PoolInput& input, const std::string& where) {
  for (const auto& [name, tensor] : input.tensors) {
    const std::size_t rank = tensor.shape().size();
    const bool batched = histories.contains(name) && rank == 4;
    const bool fits = tensor.size() > 0 &&
                      (conversion.contains(name) ? rank >= 1 : batched || rank == rank_of(name));
    if (!fits) {
      throw InputError("pooling.shape", where + ": " + name,
                       fmt::format("has shape {}", to_text(tensor.shape())));
    }
  }
}

// [H, S, d] or [B, H, S, d] as [B, H, S, d].
Tensor<Rational> batched(const Tensor<Rational>& tensor) {
  if (tensor.shape().size() == 4) return tensor;
  Shape shape = tensor.shape();
  shape.insert(shape.begin(), 1);
  return Tensor<Rational>(shape, tensor.data());
}

}  // namespace

PoolInput read_pool_input(const std::filesystem::path& path) {
  PoolInput input = path.extension() == ".safetensors" ? from_safetensors(path) : from_json(path);
  Names names;
  for (const auto& [name, tensor] : input.tensors) names.insert(name);
  Names without_optional = names;
  for (const std::string& name : optional_weights) without_optional.erase(name);
  if (names != histories && without_optional != required_weights && names != conversion) {
    throw InputError("pooling.no_tensors", path.string(),
                     "must hold key and value, or key_weight, value_weight and perhaps "
                     "query_weight and biases, or heads and pooled");
  }
  require_shapes(input, path.string());
  return input;
}

void declare_layer(PoolInput& input, const nlohmann::json& layer, const std::string& where) {
  const auto keys = input.tensors.find("key_weight");
  if (keys == input.tensors.end()) {
    throw InputError("pooling.no_projections", where, "is about projections, and there are none");
  }
  input.layer = layer_from_json(layer, static_cast<std::size_t>(keys->second.extent(1)), where);
}

ProjectionGroup projections_of_group(const PoolInput& input, std::int64_t kv_heads,
                                     std::int64_t kv_head) {
  const auto weights = [&](const char* name) {
    if (!input.has(name)) return RationalMatrices();
    return heads_of_group(input.tensors.at(name), kv_heads, kv_head);
  };
  // A bias is a weight of one input.
  const auto biases = [&](const char* name) {
    if (!input.has(name)) return RationalMatrix();
    const Tensor<Rational>& bias = input.tensors.at(name);
    const Tensor<Rational> columns({bias.extent(0), 1, bias.extent(1)}, bias.data());
    RationalMatrix rows;
    for (const RationalMatrix& head : heads_of_group(columns, kv_heads, kv_head)) {
      rows.push_back(head[0]);
    }
    return rows;
  };
  return {weights("key_weight"),
          weights("value_weight"),
          weights("query_weight"),
          biases("key_bias"),
          biases("value_bias"),
          biases("query_bias"),
          input.layer};
}

RationalMatrices heads_of_group(const Tensor<Rational>& tensor, std::int64_t kv_heads,
                                std::int64_t kv_head) {
  const std::int64_t heads = tensor.extent(0);
  if (kv_heads <= 0 || heads % kv_heads != 0) {
    throw InputError("pooling.heads_not_divisible", "kv_num_heads",
                     fmt::format("{} heads cannot be pooled evenly into {}", heads, kv_heads));
  }
  const RationalMatrices all = to_matrices(tensor);
  const std::int64_t group = heads / kv_heads;
  return RationalMatrices(all.begin() + kv_head * group, all.begin() + (kv_head + 1) * group);
}

std::vector<PlacedGroup> groups_of(const PoolInput& input, std::int64_t kv_heads) {
  const Tensor<Rational> key = batched(input.tensors.at("key"));
  const Tensor<Rational> value = batched(input.tensors.at("value"));
  if (key.extent(0) != value.extent(0) || key.extent(1) != value.extent(1)) {
    throw InputError("pooling.shape", "value", "has another batch or head count than key");
  }
  const auto entry = [](const Tensor<Rational>& tensor, std::int64_t b) {
    const Shape shape(tensor.shape().begin() + 1, tensor.shape().end());
    const auto size = element_count(shape);
    const auto from = tensor.data().begin() + b * size;
    return Tensor<Rational>(shape, std::vector<Rational>(from, from + size));
  };
  std::vector<PlacedGroup> groups;
  for (std::int64_t b = 0; b < key.extent(0); ++b) {
    const Tensor<Rational> keys = entry(key, b), values = entry(value, b);
    for (std::int64_t g = 0; g == 0 || g < kv_heads; ++g) {
      groups.push_back(
          {b, g, {heads_of_group(keys, kv_heads, g), heads_of_group(values, kv_heads, g)}});
    }
  }
  return groups;
}

}  // namespace gqa
