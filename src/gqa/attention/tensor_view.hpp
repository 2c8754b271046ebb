// A tensor in memory that somebody else owns.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gqa/attention/element_type.hpp"

namespace gqa {

struct TypedTensor;

/// Elements of one type at `data`, seen through strides. Keeps nothing alive.
///
/// Element [i, j, ...] is number i * strides[0] + j * strides[1] + ... from `data` on; strides
/// count elements and may be zero or negative. Without strides the tensor is row-major.
struct TensorView {
  using Extents = std::vector<std::int64_t>;

  TensorView() = default;
  /// Elements of any type, by their bits: binary16, bfloat16 and float8 among them.
  TensorView(const void* elements, ElementType element_type, Extents extents, Extents steps = {})
      : data(elements), type(element_type), shape(std::move(extents)), strides(std::move(steps)) {}
  TensorView(const double* elements, Extents extents, Extents steps = {})
      : TensorView(elements, ElementType::binary64, std::move(extents), std::move(steps)) {}
  TensorView(const float* elements, Extents extents, Extents steps = {})
      : TensorView(elements, ElementType::binary32, std::move(extents), std::move(steps)) {}
  TensorView(const bool* elements, Extents extents, Extents steps = {})
      : TensorView(elements, ElementType::boolean, std::move(extents), std::move(steps)) {}
  TensorView(const std::int32_t* elements, Extents extents, Extents steps = {})
      : TensorView(elements, ElementType::int32, std::move(extents), std::move(steps)) {}
  TensorView(const std::int64_t* elements, Extents extents, Extents steps = {})
      : TensorView(elements, ElementType::int64, std::move(extents), std::move(steps)) {}

  const void* data = nullptr;
  ElementType type = ElementType::binary32;
  Extents shape;
  Extents strides;  ///< empty: row-major
};

/// A row-major copy.
///
/// Errors: InputError at `where`: "tensor.no_data" (elements at a null pointer),
/// "tensor.strides_rank" (not one stride for each axis), those of element_count.
std::shared_ptr<const TypedTensor> copied_tensor(const TensorView& view, const std::string& where);

}  // namespace gqa
