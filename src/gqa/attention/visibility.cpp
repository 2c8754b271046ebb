#include "gqa/attention/visibility.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "gqa/error.hpp"

namespace gqa {
namespace {

std::vector<std::int64_t> checked_lengths(const Dimensions& d,
                                          const std::optional<std::vector<std::int64_t>>& given) {
  if (!given) return std::vector<std::int64_t>(static_cast<std::size_t>(d.batch), d.keys);
  if (static_cast<std::int64_t>(given->size()) != d.batch) {
    throw InputError("contract.lengths", "nonpad_kv_seqlen",
                     fmt::format("{} lengths for a batch of {}", given->size(), d.batch));
  }
  for (const std::int64_t length : *given) {
    if (length < 0 || length > d.keys) {
      throw InputError("contract.lengths", "nonpad_kv_seqlen",
                       fmt::format("length {} is outside 0..{}", length, d.keys));
    }
  }
  return *given;
}

}  // namespace

std::int64_t position_offset(CausalAlignment alignment, std::int64_t past, std::int64_t queries,
                             std::int64_t length, bool lengths_given) {
  switch (alignment) {
    case CausalAlignment::top_left:
      return 0;
    case CausalAlignment::bottom_right:
      return length - queries;
    case CausalAlignment::onnx:
      // past_key's length, or nonpad_kv_seqlen - T, or 0.
      if (past > 0) return past;
      return lengths_given ? length - queries : 0;
  }
  return 0;
}

KeyRange causal_keys(KeyRange keys, std::int64_t position) {
  return {keys.begin, std::min(keys.end, position + 1)};
}

// A side is compared with what it would have to reach, not added to the position: any side fits.
KeyRange window_keys(KeyRange keys, const Window& window, std::int64_t position) {
  if (window.left >= 0 && window.left < position - keys.begin) {
    keys.begin = position - window.left;
  }
  if (window.right >= 0 && window.right < keys.end - 1 - position) {
    keys.end = position + window.right + 1;
  }
  return keys;
}

Window narrowed(Window window, std::int64_t queries, std::int64_t keys) {
  return {std::min(window.left, queries + keys), std::min(window.right, queries + keys)};
}

Visibility::Visibility(const Contract& contract, const Dimensions& dimensions,
                       std::optional<std::vector<std::int64_t>> lengths,
                       std::optional<Tensor<char>> mask)
    : causal_(contract.causal),
      window_(contract.window),
      lengths_(checked_lengths(dimensions, lengths)),
      mask_(std::move(mask)) {
  for (const std::int64_t length : lengths_) {
    offsets_.push_back(position_offset(contract.causal_alignment, dimensions.past,
                                       dimensions.queries, length, lengths.has_value()));
  }
}

KeyRange Visibility::range(std::int64_t batch, std::int64_t row) const {
  const std::int64_t p = position(batch, row);
  const KeyRange keys = window_keys({0, lengths_[static_cast<std::size_t>(batch)]}, window_, p);
  return causal_ ? causal_keys(keys, p) : keys;
}

bool Visibility::mask_allows(std::int64_t batch, std::int64_t head, std::int64_t row,
                             std::int64_t key) const {
  if (!mask_) return true;
  const auto index = broadcast_index(mask_->shape(), batch, head, row, key);
  return index && mask_->data()[*index] != 0;
}

std::vector<std::size_t> Visibility::keys_of(std::int64_t batch, std::int64_t head,
                                             std::int64_t row) const {
  const KeyRange keys = range(batch, row);
  std::vector<std::size_t> result;
  if (keys.empty()) return result;
  result.reserve(static_cast<std::size_t>(keys.end - keys.begin));
  for (std::int64_t key = keys.begin; key < keys.end; ++key) {
    if (mask_allows(batch, head, row, key)) result.push_back(static_cast<std::size_t>(key));
  }
  return result;
}

std::optional<std::size_t> broadcast_index(const Shape& shape, std::int64_t batch,
                                           std::int64_t head, std::int64_t row, std::int64_t key) {
  const std::array<std::int64_t, 4> full{batch, head, row, key};
  std::size_t index = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const std::int64_t coordinate = full[full.size() - shape.size() + axis];
    const std::int64_t extent = shape[axis];
    const bool last = axis + 1 == shape.size();
    if (last && extent != 1 && coordinate >= extent) return std::nullopt;
    const std::int64_t used = extent == 1 ? 0 : coordinate;
    index = index * static_cast<std::size_t>(extent) + static_cast<std::size_t>(used);
  }
  return index;
}

}  // namespace gqa
