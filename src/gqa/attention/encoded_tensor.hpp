// Typed tensors made from numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "gqa/attention/typed_tensor.hpp"

namespace gqa {

/// A floating-point tensor of values that its type represents exactly, NaN and infinities
/// included where it has them.
/// Errors: InputError at "tensor": "tensor.not_floating_point"; "tensor.size_mismatch" if there
/// are not as many values as the shape has elements; "tensor.not_representable".
std::shared_ptr<const TypedTensor> encoded_tensor(ElementType type, Shape shape,
                                                  std::span<const double> values);
/// An int64 tensor. Errors: "tensor.size_mismatch".
std::shared_ptr<const TypedTensor> integer_tensor(Shape shape,
                                                  std::span<const std::int64_t> values);
/// A boolean tensor of zeros and ones. Errors: "tensor.size_mismatch".
std::shared_ptr<const TypedTensor> boolean_tensor(Shape shape, std::span<const char> values);

}  // namespace gqa
