#include "gqa/diagnose/evaluate/row_keys.hpp"

#include <algorithm>

#include "gqa/attention/visibility.hpp"

namespace gqa {
namespace {

// The part of the axes that belongs to one row's document.
struct Extent {
  std::int64_t row = 0;      // in the document's own count
  std::int64_t queries = 0;  // T
  std::int64_t begin = 0;    // of its keys
  std::int64_t length = 0;   // L
  std::int64_t slots = 0;    // keys whatever their length
  bool lengths_given = false;
  std::int64_t document = 0;
};

Extent whole_extent_of(const Behaviour& behaviour, std::int64_t batch, std::int64_t row) {
  if (behaviour.documents) {
    const auto& starts = behaviour.documents->query_starts;
    const auto& keys = behaviour.documents->key_starts;
    const auto next = std::upper_bound(starts.begin(), starts.end(), row);
    const auto n = static_cast<std::size_t>(next - starts.begin()) - 1;
    const std::int64_t count = keys[n + 1] - keys[n];
    return {row - starts[n], starts[n + 1] - starts[n],   keys[n], count, count,
            false,           static_cast<std::int64_t>(n)};
  }
  const bool given = behaviour.lengths.has_value();
  const std::int64_t length =
      given ? (*behaviour.lengths)[static_cast<std::size_t>(batch)] : behaviour.keys();
  return {row, behaviour.queries(), 0, length, behaviour.keys(), given};
}

Extent extent_of(const Behaviour& behaviour, std::int64_t batch, std::int64_t row) {
  Extent extent = whole_extent_of(behaviour, batch, row);
  extent.length = std::max<std::int64_t>(extent.length - behaviour.length_shortfall, 0);
  return extent;
}

std::int64_t offset_of(const Behaviour& behaviour, const Extent& extent) {
  std::int64_t offset = position_offset(behaviour.contract.causal_alignment, behaviour.past(),
                                        extent.queries, extent.length, extent.lengths_given);
  if (behaviour.offset_without_past) offset -= behaviour.past();
  if (behaviour.clamp_offset) offset = std::max<std::int64_t>(offset, 0);
  return offset;
}

// The keys that causal and window allow, in the document's own count.
KeyRange range_of(const Behaviour& behaviour, const Extent& extent, std::int64_t position) {
  const KeyRange all{0, extent.length};
  if (behaviour.range_override) {
    const auto& [first, last] = *behaviour.range_override;
    return {std::max(all.begin, position + first), std::min(all.end, position + last + 1)};
  }
  const Contract& contract = behaviour.contract;
  const KeyRange keys = window_keys(all, contract.window, position);
  const bool causal =
      contract.causal && (!behaviour.causal_only_square || behaviour.queries() == behaviour.keys());
  if (!causal) return keys;
  return causal_keys(keys, position - extent.row + extent.row / behaviour.causal_row_divisor);
}

bool half_allows(const Behaviour& behaviour, const Extent& extent, std::int64_t head,
                 std::int64_t j) {
  if (behaviour.first_half_only.empty()) return true;
  const std::int64_t keys = behaviour.documents ? extent.length : behaviour.keys();
  return behaviour.first_half_only[static_cast<std::size_t>(head)] == 0 || j < (keys + 1) / 2;
}

// Is the key read at all, so often as may be?
bool is_read(const Behaviour& behaviour, std::int64_t key) {
  return std::ranges::none_of(behaviour.key_shares, [key](const KeyShare& keys) {
    return keys.share == 0 && keys.first <= key && key <= keys.last;
  });
}

}  // namespace

bool mask_allows(const Behaviour& behaviour, std::int64_t batch, std::int64_t head,
                 std::int64_t row, std::int64_t key) {
  if (!behaviour.mask) return true;
  const std::int64_t mask_head = behaviour.mask_head[static_cast<std::size_t>(head)];
  const auto index = broadcast_index(behaviour.mask->shape(), batch, mask_head, row, key);
  return index && behaviour.mask->data()[*index] != 0;
}

double mask_bias(const Behaviour& behaviour, std::int64_t batch, std::int64_t head,
                 std::int64_t row, std::int64_t key) {
  if (behaviour.mask_use == MaskUse::added_as_bias) {
    return mask_allows(behaviour, batch, head, row, key) ? 1 : 0;
  }
  if (!behaviour.bias) return 0;
  const std::int64_t mask_head = behaviour.mask_head[static_cast<std::size_t>(head)];
  const auto index = broadcast_index(behaviour.bias->shape(), batch, mask_head, row, key);
  return index ? behaviour.bias->data()[*index] : 0;
}

RowKeys keys_of_row(const Behaviour& behaviour, std::int64_t batch, std::int64_t head,
                    std::int64_t row) {
  const Extent extent = extent_of(behaviour, batch, row);
  RowKeys keys;
  keys.position = extent.row + offset_of(behaviour, extent);
  keys.document = extent.document;
  keys.slots = extent.slots;
  keys.begin = extent.begin;
  keys.end = extent.begin + extent.length;
  if (behaviour.history_is_zero) keys.zeros_end = keys.end - extent.queries;
  const KeyRange range = range_of(behaviour, extent, keys.position);
  for (std::int64_t key = keys.begin; key < keys.end; ++key) {
    const std::int64_t j = key - extent.begin;
    const bool in_range = (j < behaviour.first_block || range.contains(j)) &&
                          half_allows(behaviour, extent, head, j) && is_read(behaviour, key);
    const bool in_mask = behaviour.mask_use == MaskUse::added_as_bias ||
                         mask_allows(behaviour, batch, head, row, key);
    const bool filled = behaviour.softcap_after_mask
                            ? !in_range || !in_mask
                            : in_range && !in_mask && behaviour.mask_use == MaskUse::zero_fill;
    if ((in_range && in_mask) || filled) {
      keys.visible.push_back(static_cast<std::size_t>(key));
      keys.filled.push_back(filled ? 1 : 0);
    } else if (in_range != in_mask) {
      keys.once_hidden.push_back(static_cast<std::size_t>(key));
    }
  }
  return keys;
}

}  // namespace gqa
