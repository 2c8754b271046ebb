// Tensors as they come from files and kernels: raw bits with an element type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gqa/attention/element_type.hpp"
#include "gqa/attention/tensor.hpp"
#include "gqa/num/float_format.hpp"

namespace gqa {

/// The float format of a floating-point element type, otherwise nullptr.
const FloatFormat* float_format(ElementType type);

/// A named-by-its-owner tensor of raw little-endian elements, row-major.
/// Invariant: bytes.size() == element_count(shape) * element_size(type).
struct TypedTensor {
  ElementType type = ElementType::binary32;
  Shape shape;
  std::vector<std::byte> bytes;

  std::size_t size() const { return bytes.size() / element_size(type); }
  /// The bits of one element, zero-extended. Precondition: index < size().
  std::uint64_t bits(std::size_t index) const;
};

/// The exact values of a floating-point tensor; every supported format is a
/// subset of binary64, NaN and infinities included.
/// Errors: InputError "tensor.not_floating_point"; "tensor.size_mismatch" if the
/// invariant of TypedTensor is broken.
Tensor<double> decode(const TypedTensor& tensor, const std::string& where = "tensor");

/// The values of an integer or boolean tensor (boolean: any non-zero byte is 1).
/// Errors: InputError "tensor.not_integer", "tensor.size_mismatch".
Tensor<std::int64_t> decode_integers(const TypedTensor& tensor,
                                     const std::string& where = "tensor");

}  // namespace gqa
