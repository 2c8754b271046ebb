// Memory of other array libraries, by the DLPack protocol.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <string>
#include <vector>

namespace gqa::python {

/// The struct behind a capsule named "dltensor".
/// Source: DLPack 0.6 (dlpack.h), whose layout all unversioned capsules keep; the type codes of
/// later versions beside.
struct DlpackTensor {
  void* data;
  std::int32_t device_type;
  std::int32_t device_id;
  std::int32_t rank;
  std::uint8_t type_code;
  std::uint8_t type_bits;
  std::uint16_t type_lanes;
  std::int64_t* shape;
  std::int64_t* strides;  ///< in elements; null: row-major
  std::uint64_t byte_offset;

  const void* first() const { return static_cast<const char*>(data) + byte_offset; }
  std::vector<std::int64_t> extents() const { return {shape, shape + rank}; }
  std::vector<std::int64_t> steps() const {
    return strides == nullptr ? std::vector<std::int64_t>()
                              : std::vector<std::int64_t>(strides, strides + rank);
  }
};

enum DlpackTypeCode : std::uint8_t {
  dlpack_int = 0,
  dlpack_uint = 1,
  dlpack_float = 2,
  dlpack_bfloat = 4,
  dlpack_bool = 6,
  dlpack_float8_e4m3fn = 10,
  dlpack_float8_e5m2 = 12,
};

/// "RuntimeError: what it says", without the traceback.
std::string told(const pybind11::error_already_set& error);

/// Does the object speak DLPack?
bool has_dlpack(pybind11::handle object);

/// What an object exports, kept alive.
class DlpackExport {
 public:
  /// Errors: InputError at `where`: "tensor.device" (memory that the CPU does not read),
  /// "tensor.dlpack" (the object raised, or what it gave is no such capsule).
  DlpackExport(pybind11::handle object, const std::string& where);
  const DlpackTensor& tensor() const { return *tensor_; }

 private:
  pybind11::object capsule_;  // never renamed, so that its own destructor gives the memory back
  const DlpackTensor* tensor_ = nullptr;
};

}  // namespace gqa::python
