#include "gqa/attention/encoded_tensor.hpp"

#include <fmt/format.h>

#include <cstring>

#include "gqa/error.hpp"

namespace gqa {
namespace {

std::shared_ptr<TypedTensor> empty_tensor(ElementType type, Shape shape, std::size_t values) {
  if (element_count(shape) != static_cast<std::int64_t>(values)) {
    throw InputError("tensor.size_mismatch", "tensor",
                     fmt::format("{} values for shape {}", values, to_text(shape)));
  }
  auto tensor = std::make_shared<TypedTensor>();
  tensor->type = type;
  tensor->shape = std::move(shape);
  tensor->bytes.resize(values * element_size(type));
  return tensor;
}

}  // namespace

std::shared_ptr<const TypedTensor> encoded_tensor(ElementType type, Shape shape,
                                                  std::span<const double> values) {
  const FloatFormat* format = float_format(type);
  if (format == nullptr) {
    throw InputError("tensor.not_floating_point", "tensor",
                     fmt::format("has element type {}", name(type)));
  }
  auto tensor = empty_tensor(type, std::move(shape), values.size());
  const std::size_t width = element_size(type);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto bits = encode_exact(*format, values[i]);
    if (!bits) {
      throw InputError("tensor.not_representable", "tensor",
                       fmt::format("{} is not a {}", values[i], name(type)));
    }
    std::memcpy(tensor->bytes.data() + i * width, &*bits, width);  // little-endian, as the type
  }
  return tensor;
}

std::shared_ptr<const TypedTensor> integer_tensor(Shape shape,
                                                  std::span<const std::int64_t> values) {
  auto tensor = empty_tensor(ElementType::int64, std::move(shape), values.size());
  std::memcpy(tensor->bytes.data(), values.data(), values.size_bytes());
  return tensor;
}

std::shared_ptr<const TypedTensor> boolean_tensor(Shape shape, std::span<const char> values) {
  auto tensor = empty_tensor(ElementType::boolean, std::move(shape), values.size());
  std::memcpy(tensor->bytes.data(), values.data(), values.size());
  return tensor;
}

}  // namespace gqa
