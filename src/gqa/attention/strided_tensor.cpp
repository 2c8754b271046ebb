#include "gqa/attention/strided_tensor.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gqa/error.hpp"
#include "gqa/num/decode_elements.hpp"

namespace gqa {
namespace {

void require_rank(const Shape& shape, std::size_t rank, Layout layout, const std::string& where) {
  if (shape.size() == rank) return;
  throw InputError("contract.shape_rank", where,
                   fmt::format("shape {} has {} axes; layout {} has {}", to_text(shape),
                               shape.size(), name(layout), rank));
}

// Heads folded into the last axis: [B, S, H * D].
std::int64_t folded_width(const Shape& shape, std::int64_t heads, const std::string& where) {
  if (heads <= 0) {
    throw InputError("contract.layout_heads", where,
                     "layout BSH folds the heads into the last axis and needs the head counts");
  }
  if (shape[2] % heads != 0) {
    throw InputError(
        "contract.layout_width", where,
        fmt::format("the last axis of {} is not a multiple of {} heads", to_text(shape), heads));
  }
  return shape[2] / heads;
}

}  // namespace

std::size_t axis_count(Layout layout) {
  return layout == Layout::bsh || layout == Layout::thd || layout == Layout::hsd ? 3 : 4;
}

StridedTensor::StridedTensor(std::shared_ptr<const TypedTensor> tensor, Layout layout,
                             std::int64_t heads, const std::string& where)
    : tensor_(std::move(tensor)) {
  if (float_format(tensor_->type) == nullptr) {
    throw InputError(
        "contract.element_type", where,
        fmt::format("holds {}; a floating-point type is needed", gqa::name(tensor_->type)));
  }
  const Shape& s = tensor_->shape;
  require_rank(s, axis_count(layout), layout, where);
  // Without elements nothing is read, and products of the other extents might overflow.
  const Shape e = element_count(s, where) == 0 ? Shape(s.size(), 0) : s;
  switch (layout) {
    case Layout::bhsd:
      shape_ = s;
      strides_ = {e[1] * e[2] * e[3], e[2] * e[3], e[3], 1};
      break;
    case Layout::bshd:
      shape_ = {s[0], s[2], s[1], s[3]};
      strides_ = {e[1] * e[2] * e[3], e[3], e[2] * e[3], 1};
      break;
    case Layout::sbhd:
      shape_ = {s[1], s[2], s[0], s[3]};
      strides_ = {e[2] * e[3], e[3], e[1] * e[2] * e[3], 1};
      break;
    case Layout::bsh: {
      const std::int64_t width = folded_width(s, heads, where);
      shape_ = {s[0], heads, s[1], width};
      strides_ = {e[1] * e[2], width, e[2], 1};
      break;
    }
    case Layout::thd:  // one batch entry; documents are cut by the caller
      shape_ = {1, s[1], s[0], s[2]};
      strides_ = {0, e[2], e[1] * e[2], 1};
      break;
    case Layout::hsd:
      shape_ = {1, s[0], s[1], s[2]};
      strides_ = {0, e[1] * e[2], e[2], 1};
      break;
  }
}

void StridedTensor::read_rows(std::int64_t b, std::int64_t h, std::int64_t begin, std::int64_t end,
                              double* to, std::size_t row_stride) const {
  const auto width = static_cast<std::size_t>(shape_[3]);
  const std::size_t size = element_size(tensor_->type);
  for (std::int64_t s = begin; s < end; ++s, to += row_stride) {
    decode_elements(format(), tensor_->bytes.data() + index(b, h, s, 0) * size, width, to);
  }
}

void History::read_rows(std::int64_t b, std::int64_t h, std::int64_t begin, std::int64_t end,
                        double* to, std::size_t row_stride) const {
  const std::int64_t split = std::clamp(past_rows_, begin, end);
  if (begin < split) past_.read_rows(b, h, begin, split, to, row_stride);
  if (split < end) {
    current_.read_rows(b, h, split - past_rows_, end - past_rows_,
                       to + static_cast<std::size_t>(split - begin) * row_stride, row_stride);
  }
}

}  // namespace gqa
