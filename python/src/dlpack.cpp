#include "dlpack.hpp"

#include <fmt/format.h>

#include "gqa/error.hpp"

namespace py = pybind11;

namespace gqa::python {
namespace {

constexpr int cpu = 1;
constexpr int cuda_host = 3;   // pinned memory, which the CPU reads
constexpr int rocm_host = 11;  // so is this

void require_host_memory(py::handle object, const std::string& where) {
  if (!py::hasattr(object, "__dlpack_device__")) return;
  const auto device = object.attr("__dlpack_device__")().cast<std::pair<int, int>>();
  if (device.first == cpu || device.first == cuda_host || device.first == rocm_host) return;
  throw InputError(
      "tensor.device", where,
      fmt::format("lies in the memory of DLPack device {}; copy it to the CPU", device.first));
}

}  // namespace

std::string told(const py::error_already_set& error) {
  return fmt::format("{}: {}", py::str(error.type().attr("__name__")).cast<std::string>(),
                     py::str(error.value()).cast<std::string>());
}

bool has_dlpack(py::handle object) {
  return py::hasattr(object, "__dlpack__");
}

DlpackExport::DlpackExport(py::handle object, const std::string& where) {
  require_host_memory(object, where);
  try {
    capsule_ = object.attr("__dlpack__")();
  } catch (py::error_already_set& error) {
    // An interruption is no answer to the question.
    if (!error.matches(PyExc_Exception)) throw;
    throw InputError("tensor.dlpack", where, fmt::format("__dlpack__ raised {}", told(error)));
  }
  if (PyCapsule_IsValid(capsule_.ptr(), "dltensor") == 0) {
    throw InputError("tensor.dlpack", where, "__dlpack__ gave no capsule named dltensor");
  }
  tensor_ = static_cast<const DlpackTensor*>(PyCapsule_GetPointer(capsule_.ptr(), "dltensor"));
}

}  // namespace gqa::python
