#include "gqa/attention/tensor_view.hpp"

#include <fmt/format.h>

#include <cstring>
#include <span>

#include "gqa/attention/typed_tensor.hpp"
#include "gqa/error.hpp"

namespace gqa {
namespace {

// Appends the elements of the axes that are left, the last one fastest.
void append(const TensorView& view, std::span<const std::int64_t> strides, std::size_t axis,
            const std::byte* from, std::vector<std::byte>& to) {
  const std::size_t size = element_size(view.type);
  if (axis == view.shape.size()) {
    to.insert(to.end(), from, from + size);
    return;
  }
  const auto width = static_cast<std::size_t>(view.shape[axis]) * size;
  if (axis + 1 == view.shape.size() && strides[axis] == 1) {
    to.insert(to.end(), from, from + width);
    return;
  }
  const auto step = strides[axis] * static_cast<std::int64_t>(size);
  for (std::int64_t i = 0; i < view.shape[axis]; ++i) {
    append(view, strides, axis + 1, from + i * step, to);
  }
}

std::vector<std::int64_t> row_major(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride *= shape[axis];
  }
  return strides;
}

}  // namespace

std::shared_ptr<const TypedTensor> copied_tensor(const TensorView& view, const std::string& where) {
  const std::int64_t elements = element_count(view.shape, where);
  if (elements > 0 && view.data == nullptr) {
    throw InputError("tensor.no_data", where,
                     fmt::format("{} elements at a null pointer", elements));
  }
  if (!view.strides.empty() && view.strides.size() != view.shape.size()) {
    throw InputError("tensor.strides_rank", where,
                     fmt::format("{} strides for {} axes", view.strides.size(), view.shape.size()));
  }
  auto tensor = std::make_shared<TypedTensor>();
  tensor->type = view.type;
  tensor->shape = view.shape;
  if (elements == 0) return tensor;
  tensor->bytes.reserve(static_cast<std::size_t>(elements) * element_size(view.type));
  const auto strides = view.strides.empty() ? row_major(view.shape) : view.strides;
  append(view, strides, 0, static_cast<const std::byte*>(view.data), tensor->bytes);
  return tensor;
}

}  // namespace gqa
