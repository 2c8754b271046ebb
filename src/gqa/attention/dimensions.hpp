// The sizes of one problem, agreed between its tensors and its contract.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gqa/attention/contract.hpp"
#include "gqa/attention/tensor.hpp"

namespace gqa {

/// Sizes in the words of docs/contract.md: query [B, Hq, T, dk], key [B, Hkv, S, dk],
/// value [B, Hkv, S, dv]; keys seen are P past ones followed by S new ones.
struct Dimensions {
  std::int64_t batch = 0;       ///< B
  std::int64_t q_heads = 0;     ///< Hq
  std::int64_t kv_heads = 0;    ///< Hkv
  std::int64_t queries = 0;     ///< T
  std::int64_t past = 0;        ///< P
  std::int64_t keys = 0;        ///< P + S
  std::int64_t key_size = 0;    ///< dk
  std::int64_t value_size = 0;  ///< dv
  friend bool operator==(const Dimensions&, const Dimensions&) = default;
};

/// Shapes of the tensors of a problem, all in BHSD order.
struct ProblemShapes {
  Shape query;
  Shape key;
  Shape value;
  std::optional<Shape> past_key;
  std::optional<Shape> past_value;
  std::optional<Shape> attn_mask;
  std::optional<Shape> sink;
  std::optional<Shape> alibi_slopes;
  std::optional<Shape> output;
};

/// Derives the sizes and checks every tensor against them.
///
/// Errors: InputError at the tensor's name with code "contract.shape_rank",
/// "contract.shape_mismatch", "contract.no_heads", "contract.zero_head_size",
/// "contract.mask_not_broadcastable", "contract.past_incomplete" or
/// "contract.size_without_elements" (beyond 65,536, no size may exceed the elements of the tensors
/// together: only a tensor without any can state one that does).
Dimensions resolve_dimensions(const ProblemShapes& shapes);

/// The KV head of every query head, size Hq.
///
/// Errors: InputError at "head_map" with code "contract.heads_not_divisible" (Hq is
/// not a multiple of Hkv and no list is given), "contract.head_map_length",
/// "contract.head_map_entry".
std::vector<std::int64_t> resolve_head_map(const HeadMap& map, std::int64_t q_heads,
                                           std::int64_t kv_heads);

}  // namespace gqa
