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

// The offset between the row index and its position, one rule per alignment.
std::int64_t offset_of(CausalAlignment alignment, const Dimensions& d, std::int64_t length,
                       bool lengths_given) {
  switch (alignment) {
    case CausalAlignment::top_left:
      return 0;
    case CausalAlignment::bottom_right:
      return length - d.queries;
    case CausalAlignment::onnx:
      // ONNX Attention-24: past_key's length, or nonpad_kv_seqlen - T, or 0.
      if (d.past > 0) return d.past;
      return lengths_given ? length - d.queries : 0;
  }
  return 0;
}

}  // namespace

Visibility::Visibility(const Contract& contract, const Dimensions& dimensions,
                       std::optional<std::vector<std::int64_t>> lengths,
                       std::optional<Tensor<char>> mask)
    : causal_(contract.causal),
      window_(contract.window),
      lengths_(checked_lengths(dimensions, lengths)),
      mask_(std::move(mask)) {
  // Wider than all rows and keys hides nothing, and p - left, p + right stay in range.
  const std::int64_t widest = dimensions.queries + dimensions.keys;
  window_.left = std::min(window_.left, widest);
  window_.right = std::min(window_.right, widest);
  for (const std::int64_t length : lengths_) {
    offsets_.push_back(
        offset_of(contract.causal_alignment, dimensions, length, lengths.has_value()));
  }
}

KeyRange Visibility::range(std::int64_t batch, std::int64_t row) const {
  const std::int64_t p = position(batch, row);
  KeyRange keys{0, lengths_[static_cast<std::size_t>(batch)]};
  if (causal_) keys.end = std::min(keys.end, p + 1);
  if (window_.left >= 0) keys.begin = std::max(keys.begin, p - window_.left);
  if (window_.right >= 0) keys.end = std::min(keys.end, p + window_.right + 1);
  return keys;
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
