// Tensors as NumPy arrays.
#pragma once

#include <pybind11/numpy.h>

#include "gqa/attention/tensor.hpp"
#include "gqa/attention/typed_tensor.hpp"

namespace gqa::python {

/// A writable copy. bfloat16 and float8 come as the types of ml_dtypes where that is installed,
/// otherwise as their bits, uint16 and uint8.
///
/// `row_stride_factor` > 1: rows (of the last axis) lie so many widths apart, with NaN between
/// them; the array is a view that leaves the gaps out.
pybind11::array array_of(const TypedTensor& tensor, std::int64_t row_stride_factor = 1);

/// A float64 copy.
pybind11::array_t<double> array_of(const Tensor<double>& tensor);

}  // namespace gqa::python
