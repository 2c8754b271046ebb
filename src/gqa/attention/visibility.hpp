// Which keys a query row sees.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gqa/attention/contract.hpp"
#include "gqa/attention/dimensions.hpp"
#include "gqa/attention/tensor.hpp"

namespace gqa {

/// A half-open range of keys [begin, end).
struct KeyRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool empty() const { return begin >= end; }
  bool contains(std::int64_t key) const { return begin <= key && key < end; }
};

/// The offset between the index of a query row and its position on the key axis, one rule per
/// alignment: `past` keys were there before, `length` keys are in all.
/// Source: ONNX Attention-24 for CausalAlignment::onnx.
std::int64_t position_offset(CausalAlignment alignment, std::int64_t past, std::int64_t queries,
                             std::int64_t length, bool lengths_given);

/// Of `keys`, what the causal rule leaves to a row at `position`: nothing behind it.
KeyRange causal_keys(KeyRange keys, std::int64_t position);
/// Of `keys`, what a window leaves to a row at `position`, whatever the size of its sides.
KeyRange window_keys(KeyRange keys, const Window& window, std::int64_t position);
/// The same window with sides of at most `queries` + `keys`: a wider side hides nothing, and sums
/// of a position and a side stay in range.
Window narrowed(Window window, std::int64_t queries, std::int64_t keys);

/// The visible keys of every row: causal, window, lengths and boolean mask joined.
///
/// A key is visible if every declared rule allows it. All rules but the mask leave
/// a contiguous range, so the range and the mask are asked separately.
class Visibility {
 public:
  /// No batch entry: nothing may be asked.
  Visibility() = default;
  /// `lengths`: nonpad_kv_seqlen, one per batch entry, or nullopt.
  /// `mask`: true attends; shape broadcastable to [B, Hq, T, keys], or nullopt.
  ///
  /// Errors: InputError at "nonpad_kv_seqlen" with code "contract.lengths" (not one
  /// per batch entry, or outside 0..keys).
  Visibility(const Contract& contract, const Dimensions& dimensions,
             std::optional<std::vector<std::int64_t>> lengths = std::nullopt,
             std::optional<Tensor<char>> mask = std::nullopt);

  /// Position p_i = i + offset of a query row on the key axis; may be negative.
  std::int64_t position(std::int64_t batch, std::int64_t row) const {
    return row + offsets_[static_cast<std::size_t>(batch)];
  }
  /// Keys that causal, window and lengths allow.
  KeyRange range(std::int64_t batch, std::int64_t row) const;
  /// Does the mask allow this key? True without a mask.
  bool mask_allows(std::int64_t batch, std::int64_t head, std::int64_t row, std::int64_t key) const;
  bool has_mask() const { return mask_.has_value(); }
  /// The mask itself, or null, for readers of whole rows.
  const Tensor<char>* mask() const { return mask_ ? &*mask_ : nullptr; }
  bool visible(std::int64_t batch, std::int64_t head, std::int64_t row, std::int64_t key) const {
    return range(batch, row).contains(key) && mask_allows(batch, head, row, key);
  }
  /// The visible keys of a row, ascending.
  std::vector<std::size_t> keys_of(std::int64_t batch, std::int64_t head, std::int64_t row) const;

 private:
  bool causal_ = false;
  Window window_;
  std::vector<std::int64_t> offsets_;  // one per batch entry
  std::vector<std::int64_t> lengths_;  // one per batch entry
  std::optional<Tensor<char>> mask_;
};

/// Index into a tensor of `shape` that is broadcast to [B, Hq, T, keys], numpy's way;
/// nullopt where a short last axis ends. A last axis of extent 1 is broadcast.
std::optional<std::size_t> broadcast_index(const Shape& shape, std::int64_t batch,
                                           std::int64_t head, std::int64_t row, std::int64_t key);

}  // namespace gqa
