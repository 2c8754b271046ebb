#include "array_result.hpp"

#include <cstring>
#include <string>

namespace py = pybind11;

namespace gqa::python {
namespace {

// The type of ml_dtypes, or the unsigned integer of that many bytes.
py::dtype registered_type(const char* name, const char* bits) {
  try {
    return py::dtype::from_args(py::module_::import("ml_dtypes").attr(name));
  } catch (py::error_already_set& error) {
    const bool absent = error.matches(PyExc_ImportError) || error.matches(PyExc_AttributeError);
    if (!absent) throw;
    return py::dtype(bits);
  }
}

py::dtype dtype_of(ElementType type) {
  switch (type) {
    case ElementType::binary64:
      return py::dtype("f8");
    case ElementType::binary32:
      return py::dtype("f4");
    case ElementType::binary16:
      return py::dtype("f2");
    case ElementType::bfloat16:
      return registered_type("bfloat16", "u2");
    case ElementType::float8_e4m3fn:
      return registered_type("float8_e4m3fn", "u1");
    case ElementType::float8_e5m2:
      return registered_type("float8_e5m2", "u1");
    case ElementType::boolean:
      return py::dtype("?");
    case ElementType::int8:
      return py::dtype("i1");
    case ElementType::uint8:
      return py::dtype("u1");
    case ElementType::int32:
      return py::dtype("i4");
    case ElementType::int64:
      break;
  }
  return py::dtype("i8");
}

}  // namespace

py::array array_of(const TypedTensor& tensor, std::int64_t row_stride_factor) {
  Shape shape = tensor.shape;
  const std::size_t size = element_size(tensor.type);
  const auto width = shape.empty() ? 1 : static_cast<std::size_t>(shape.back());
  const std::size_t row = width * size;
  if (row_stride_factor > 1) shape.back() *= row_stride_factor;
  py::array array(dtype_of(tensor.type), shape);
  auto* to = static_cast<std::byte*>(array.mutable_data());
  if (row_stride_factor <= 1) {
    if (!tensor.bytes.empty()) std::memcpy(to, tensor.bytes.data(), tensor.bytes.size());
    return array;
  }
  // 0xff everywhere is NaN in every floating-point type.
  std::memset(to, 0xff, static_cast<std::size_t>(array.nbytes()));
  const std::size_t step = row * static_cast<std::size_t>(row_stride_factor);
  for (std::size_t at = 0; at * row < tensor.bytes.size(); ++at) {
    std::memcpy(to + at * step, tensor.bytes.data() + at * row, row);
  }
  return array[py::make_tuple(py::ellipsis(), py::slice(0, static_cast<py::ssize_t>(width), 1))];
}

py::array_t<double> array_of(const Tensor<double>& tensor) {
  py::array_t<double> array(tensor.shape());
  if (!tensor.empty()) {
    std::memcpy(array.mutable_data(), tensor.data().data(), tensor.size() * sizeof(double));
  }
  return array;
}

}  // namespace gqa::python
