#include "tensor_argument.hpp"

#include <fmt/format.h>
#include <pybind11/numpy.h>

#include <array>

#include "dlpack.hpp"
#include "gqa/attention/encoded_tensor.hpp"
#include "gqa/attention/tensor_view.hpp"
#include "gqa/error.hpp"

namespace py = pybind11;

namespace gqa::python {
namespace {

constexpr std::array all_types{
    ElementType::binary64, ElementType::binary32,      ElementType::binary16,
    ElementType::bfloat16, ElementType::float8_e4m3fn, ElementType::float8_e5m2,
    ElementType::boolean,  ElementType::int8,          ElementType::uint8,
    ElementType::int32,    ElementType::int64};

// What an object says of its elements.
struct SaidType {
  std::optional<ElementType> type;  // nullopt: see `bits`
  bool two_byte_integers = false;   // the bits of a float, if somebody says which
  std::string name;                 // as the object's own library calls it
};

ElementType meant(const SaidType& said, const ElementWish& wish, const std::string& where) {
  const auto wished_size = wish.type ? element_size(*wish.type) : 0;
  const bool wished_float = wish.type && float_format(*wish.type) != nullptr;
  if (said.two_byte_integers && wished_float && wished_size == 2) return *wish.type;
  if (said.type == ElementType::uint8 && wish.bytes_are_bits && wished_float && wished_size == 1) {
    return *wish.type;
  }
  if (said.type) return *said.type;
  if (said.two_byte_integers) {
    throw InputError("tensor.element_type", where,
                     fmt::format("{} may hold the bits of float16 or of bfloat16: say which with "
                                 "dtype=\"bfloat16\"",
                                 said.name));
  }
  throw InputError("tensor.element_type", where,
                   fmt::format("elements of type {} are not supported", said.name));
}

// Type numbers from this one on are those of other packages (NumPy's NPY_USERDEF).
constexpr int first_registered_type = 256;

SaidType said_by_dtype(const py::dtype& dtype) {
  SaidType said;
  const char kind = dtype.kind();
  const auto size = dtype.itemsize();
  if (kind == 'f' && size == 8) said.type = ElementType::binary64;
  if (kind == 'f' && size == 4) said.type = ElementType::binary32;
  if (kind == 'f' && size == 2) said.type = ElementType::binary16;
  if (kind == 'b') said.type = ElementType::boolean;
  if (kind == 'i' && size == 1) said.type = ElementType::int8;
  if (kind == 'u' && size == 1) said.type = ElementType::uint8;
  if (kind == 'i' && size == 4) said.type = ElementType::int32;
  if (kind == 'i' && size == 8) said.type = ElementType::int64;
  said.two_byte_integers = (kind == 'i' || kind == 'u') && size == 2;
  // NumPy works the name out in Python: a tenth of what a small audit takes.
  if (said.type && dtype.num() < first_registered_type) return said;
  said.name = dtype.attr("name").cast<std::string>();
  // Types that other packages register with NumPy (ml_dtypes) go by their names, whatever kind
  // they say.
  if (said.name == "bfloat16") said.type = ElementType::bfloat16;
  if (said.name == "float8_e4m3fn") said.type = ElementType::float8_e4m3fn;
  if (said.name == "float8_e5m2") said.type = ElementType::float8_e5m2;
  return said;
}

SaidType said_by_dlpack(const DlpackTensor& tensor) {
  SaidType said;
  const int code = tensor.type_code;
  const int bits = tensor.type_bits;
  said.name = fmt::format("DLPack code {} with {} bits", code, bits);
  if (tensor.type_lanes != 1) {
    said.name += fmt::format(" and {} lanes", tensor.type_lanes);
    return said;
  }
  if (code == dlpack_float && bits == 64) said.type = ElementType::binary64;
  if (code == dlpack_float && bits == 32) said.type = ElementType::binary32;
  if (code == dlpack_float && bits == 16) said.type = ElementType::binary16;
  if (code == dlpack_bfloat && bits == 16) said.type = ElementType::bfloat16;
  if (code == dlpack_float8_e4m3fn && bits == 8) said.type = ElementType::float8_e4m3fn;
  if (code == dlpack_float8_e5m2 && bits == 8) said.type = ElementType::float8_e5m2;
  if (code == dlpack_bool && bits == 8) said.type = ElementType::boolean;
  if (code == dlpack_int && bits == 8) said.type = ElementType::int8;
  if (code == dlpack_uint && bits == 8) said.type = ElementType::uint8;
  if (code == dlpack_int && bits == 32) said.type = ElementType::int32;
  if (code == dlpack_int && bits == 64) said.type = ElementType::int64;
  said.two_byte_integers = (code == dlpack_int || code == dlpack_uint) && bits == 16;
  return said;
}

std::shared_ptr<const TypedTensor> copied(const TensorView& view, const std::string& where) {
  const py::gil_scoped_release release;
  return copied_tensor(view, where);
}

std::shared_ptr<const TypedTensor> from_dlpack(py::handle object, const std::string& where,
                                               const ElementWish& wish) {
  const DlpackExport exported(object, where);
  const DlpackTensor& tensor = exported.tensor();
  const ElementType type = meant(said_by_dlpack(tensor), wish, where);
  return copied({tensor.first(), type, tensor.extents(), tensor.steps()}, where);
}

// In the processor's byte order, with strides of whole elements.
py::array readable(py::array array, const std::string& where) {
  if (array.dtype().kind() == 'O') {
    throw InputError(
        "tensor.not_an_array", where,
        fmt::format("{} is no array of numbers", py::repr(array.dtype()).cast<std::string>()));
  }
  if (!array.dtype().attr("isnative").cast<bool>()) {
    array = array.attr("astype")(array.dtype().attr("newbyteorder")("="));
  }
  for (py::ssize_t axis = 0; axis < array.ndim(); ++axis) {
    if (array.strides(axis) % array.itemsize() == 0) continue;
    return array.attr("copy")();
  }
  return array;
}

std::shared_ptr<const TypedTensor> from_array(const py::array& given, const std::string& where,
                                              const ElementWish& wish) {
  const py::array array = readable(given, where);
  const ElementType type = meant(said_by_dtype(array.dtype()), wish, where);
  TensorView view(array.data(), type, {});
  for (py::ssize_t axis = 0; axis < array.ndim(); ++axis) {
    view.shape.push_back(array.shape(axis));
    view.strides.push_back(array.strides(axis) / array.itemsize());
  }
  return copied(view, where);
}

std::shared_ptr<const TypedTensor> from_object(py::handle object, const std::string& where,
                                               const ElementWish& wish) {
  if (py::isinstance<py::array>(object)) {
    return from_array(py::reinterpret_borrow<py::array>(object), where, wish);
  }
  if (has_dlpack(object)) return from_dlpack(object, where, wish);
  try {
    return from_array(py::module_::import("numpy").attr("asarray")(object), where, wish);
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_Exception)) throw;
    throw InputError("tensor.not_an_array", where, told(error));
  }
}

}  // namespace

std::shared_ptr<const TypedTensor> tensor_argument(py::handle object, const std::string& where,
                                                   const ElementWish& wish) {
  std::shared_ptr<const TypedTensor> tensor = from_object(object, where, wish);
  const bool other_float = wish.type && wish.convert && tensor->type != *wish.type &&
                           float_format(tensor->type) != nullptr;
  if (!other_float) return tensor;
  const py::gil_scoped_release release;
  try {
    return encoded_tensor(*wish.type, tensor->shape, decode(*tensor, where).data());
  } catch (const InputError& error) {
    throw InputError(error.code(), where, error.message());
  }
}

ElementType element_type_named(const std::string& name, const std::string& where) {
  for (const ElementType type : all_types) {
    if (gqa::name(type) == name) return type;
  }
  throw InputError("tensor.element_type", where, fmt::format("\"{}\" is not a known type", name));
}

}  // namespace gqa::python
