// Tensors from Python: NumPy arrays, DLPack, the buffer protocol.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <string>

#include "gqa/attention/typed_tensor.hpp"

namespace gqa::python {

/// What a caller says about the elements of an argument.
struct ElementWish {
  /// The type meant by `dtype`; nullopt: what the object says.
  std::optional<ElementType> type;
  /// Convert elements of another floating-point type, if all are numbers of `type`.
  bool convert = false;
  /// One-byte unsigned integers hold the bits of `type`, where that is a float8.
  bool bytes_are_bits = false;
};

/// A row-major copy of the object's elements; strides are honoured, byte order too.
///
/// NumPy arrays come first, then `__dlpack__` (of memory that the CPU reads), then whatever
/// NumPy can make an array of: the buffer protocol, sequences of numbers. Two-byte integers hold
/// the bits of `wish.type`. The lock is released while
/// elements are copied.
///
/// Errors: InputError at `where`: "tensor.element_type" (a type that is not supported, or bits
/// whose meaning is not said), "tensor.device", "tensor.dlpack" (the object refused),
/// "tensor.not_an_array", "tensor.not_representable".
std::shared_ptr<const TypedTensor> tensor_argument(pybind11::handle object,
                                                   const std::string& where,
                                                   const ElementWish& wish);

/// The element type of one of the library's names, "binary32".
/// Errors: InputError "tensor.element_type" at `where`.
ElementType element_type_named(const std::string& name, const std::string& where);

}  // namespace gqa::python
