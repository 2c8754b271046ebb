// Typed tensors made from numbers.
#pragma once

#include <cstring>
#include <memory>
#include <stdexcept>
#include <vector>

#include "gqa/attention/typed_tensor.hpp"

namespace gqa::test {

inline constexpr ElementType f32 = ElementType::binary32;

/// A tensor of bit patterns, little-endian as in files. Precondition: as many as elements.
inline std::shared_ptr<TypedTensor> tensor_of_bits(ElementType type, Shape shape,
                                                   const std::vector<std::uint64_t>& bits) {
  auto tensor = std::make_shared<TypedTensor>();
  tensor->type = type;
  tensor->shape = std::move(shape);
  for (const std::uint64_t pattern : bits) {
    for (std::size_t byte = 0; byte < element_size(type); ++byte) {
      tensor->bytes.push_back(static_cast<std::byte>(pattern >> (8 * byte)));
    }
  }
  if (tensor->size() != static_cast<std::size_t>(element_count(tensor->shape))) {
    throw std::logic_error("the test states a wrong number of elements");
  }
  return tensor;
}

/// A floating-point tensor of values that its type represents exactly.
inline std::shared_ptr<TypedTensor> tensor_of(ElementType type, Shape shape,
                                              const std::vector<double>& values) {
  std::vector<std::uint64_t> bits;
  for (const double value : values) {
    bits.push_back(encode_exact(*float_format(type), value).value());
  }
  return tensor_of_bits(type, std::move(shape), bits);
}

inline std::shared_ptr<TypedTensor> tensor_of(Shape shape, const std::vector<float>& values) {
  return tensor_of(f32, std::move(shape), {values.begin(), values.end()});
}

/// 0, 1, 2, ... in that shape.
inline std::shared_ptr<TypedTensor> counting(ElementType type, const Shape& shape) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < element_count(shape); ++i) {
    values.push_back(static_cast<double>(i));
  }
  return tensor_of(type, shape, values);
}

}  // namespace gqa::test
