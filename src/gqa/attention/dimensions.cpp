#include "gqa/attention/dimensions.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gqa/error.hpp"

namespace gqa {
namespace {

void require_rank(const Shape& shape, std::size_t rank, const char* tensor) {
  if (shape.size() != rank) {
    throw InputError(
        "contract.shape_rank", tensor,
        fmt::format("shape {} has {} axes; expected {}", to_text(shape), shape.size(), rank));
  }
}

void require_shape(const Shape& shape, const Shape& expected, const char* tensor) {
  require_rank(shape, expected.size(), tensor);
  if (shape != expected) {
    throw InputError(
        "contract.shape_mismatch", tensor,
        fmt::format("shape {} does not fit; expected {}", to_text(shape), to_text(expected)));
  }
}

// numpy's rule: axes are aligned at the right, each is 1 or the full extent. The last
// axis may be shorter than the keys (padded with "not visible", ONNX opset 24).
void require_mask_shape(const Shape& mask, const Dimensions& d) {
  const Shape full{d.batch, d.q_heads, d.queries, d.keys};
  bool fits = !mask.empty() && mask.size() <= full.size();
  for (std::size_t i = 0; fits && i < mask.size(); ++i) {
    const std::int64_t extent = mask[mask.size() - 1 - i];
    const std::int64_t target = full[full.size() - 1 - i];
    const bool last = i == 0;
    fits = extent == target || extent == 1 || (last && extent <= target);
  }
  if (!fits) {
    throw InputError(
        "contract.mask_not_broadcastable", "attn_mask",
        fmt::format("shape {} cannot be broadcast to {}", to_text(mask), to_text(full)));
  }
}

void require_not_empty(const Dimensions& d) {
  if (d.q_heads == 0 || d.kv_heads == 0) {
    throw InputError("contract.no_heads", d.q_heads == 0 ? "query" : "key", "there are no heads");
  }
  if (d.key_size == 0 || d.value_size == 0) {
    throw InputError("contract.zero_head_size", d.key_size == 0 ? "key" : "value",
                     "the head size is zero");
  }
}

// Elements of the tensors that the sizes were read from, as far as anybody could hold them.
std::int64_t elements_of(const ProblemShapes& shapes) {
  constexpr std::int64_t most = std::int64_t{1} << 59;  // six of them can be added
  std::int64_t sum = 0;
  for (const auto* shape : {&shapes.query, &shapes.key, &shapes.value}) {
    sum += std::min(element_count(*shape), most);
  }
  for (const auto* shape : {&shapes.past_key, &shapes.past_value, &shapes.output}) {
    if (*shape) sum += std::min(element_count(**shape), most);
  }
  return sum;
}

// A tensor without elements may state any size, and a file of some hundred bytes would have us make
// room for all of its heads: what no element stands for is bounded.
void require_sizes_of_elements(const Dimensions& d, std::int64_t new_keys,
                               const ProblemShapes& shapes) {
  constexpr std::int64_t free_entries = 1 << 16;
  const std::int64_t most = elements_of(shapes) + free_entries;
  const auto require = [most](const char* where, const char* what, std::int64_t size,
                              std::int64_t times) {
    if (size <= most && times <= most / std::max<std::int64_t>(size, 1)) return;
    throw InputError(
        "contract.size_without_elements", where,
        fmt::format("{} {} are more than the elements that the tensors hold", what,
                    times == 1 ? fmt::format("{}", size) : fmt::format("{} * {}", times, size)));
  };
  require("query", "batch size and query heads", d.q_heads, std::max<std::int64_t>(d.batch, 1));
  require("key", "batch size and KV heads", d.kv_heads, std::max<std::int64_t>(d.batch, 1));
  require("query", "query rows", d.queries, 1);
  require("past_key", "past keys", d.past, 1);
  require("key", "keys", new_keys, 1);
  require("key", "coordinates of a key", d.key_size, 1);
  require("value", "coordinates of a value", d.value_size, 1);
}

}  // namespace

Dimensions resolve_dimensions(const ProblemShapes& shapes) {
  require_rank(shapes.query, 4, "query");
  require_rank(shapes.key, 4, "key");
  require_rank(shapes.value, 4, "value");
  Dimensions d;
  d.batch = shapes.query[0];
  d.q_heads = shapes.query[1];
  d.queries = shapes.query[2];
  d.key_size = shapes.query[3];
  d.kv_heads = shapes.key[1];
  d.value_size = shapes.value[3];
  const std::int64_t new_keys = shapes.key[2];
  require_not_empty(d);
  require_shape(shapes.key, {d.batch, d.kv_heads, new_keys, d.key_size}, "key");
  require_shape(shapes.value, {d.batch, d.kv_heads, new_keys, d.value_size}, "value");
  if (shapes.past_key.has_value() != shapes.past_value.has_value()) {
    throw InputError("contract.past_incomplete", shapes.past_key ? "past_value" : "past_key",
                     "past_key and past_value must be given together");
  }
  if (shapes.past_key) {
    require_rank(*shapes.past_key, 4, "past_key");
    d.past = (*shapes.past_key)[2];
    require_shape(*shapes.past_key, {d.batch, d.kv_heads, d.past, d.key_size}, "past_key");
    require_shape(*shapes.past_value, {d.batch, d.kv_heads, d.past, d.value_size}, "past_value");
  }
  require_sizes_of_elements(d, new_keys, shapes);
  d.keys = d.past + new_keys;
  if (shapes.attn_mask) require_mask_shape(*shapes.attn_mask, d);
  if (shapes.sink) require_shape(*shapes.sink, {d.q_heads}, "sink");
  if (shapes.alibi_slopes && shapes.alibi_slopes->size() == 2) {
    require_shape(*shapes.alibi_slopes, {d.batch, d.q_heads}, "alibi_slopes");
  } else if (shapes.alibi_slopes) {
    require_shape(*shapes.alibi_slopes, {d.q_heads}, "alibi_slopes");
  }
  if (shapes.output) {
    require_shape(*shapes.output, {d.batch, d.q_heads, d.queries, d.value_size}, "output");
  }
  return d;
}

std::vector<std::int64_t> resolve_head_map(const HeadMap& map, std::int64_t q_heads,
                                           std::int64_t kv_heads) {
  if (map.kind == HeadMapKind::explicit_list) {
    if (static_cast<std::int64_t>(map.list.size()) != q_heads) {
      throw InputError(
          "contract.head_map_length", "head_map",
          fmt::format("the list has {} for {} query head{}",
                      map.list.size() == 1 ? std::string("1 entry")
                                           : fmt::format("{} entries", map.list.size()),
                      q_heads, q_heads == 1 ? "" : "s"));
    }
    for (const std::int64_t entry : map.list) {
      if (entry < 0 || entry >= kv_heads) {
        throw InputError("contract.head_map_entry", "head_map",
                         fmt::format("the list names KV head {} of {}", entry, kv_heads));
      }
    }
    return map.list;
  }
  if (kv_heads == 0 || q_heads % kv_heads != 0) {
    throw InputError(
        "contract.heads_not_divisible", "head_map",
        fmt::format("{} query heads cannot share {} KV heads evenly", q_heads, kv_heads));
  }
  const std::int64_t group_size = q_heads / kv_heads;
  std::vector<std::int64_t> result;
  result.reserve(static_cast<std::size_t>(q_heads));
  for (std::int64_t h = 0; h < q_heads; ++h) {
    result.push_back(map.kind == HeadMapKind::contiguous ? h / group_size : h % kv_heads);
  }
  return result;
}

}  // namespace gqa
