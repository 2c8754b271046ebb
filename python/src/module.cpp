#include "bindings.hpp"
#include "gqa/error.hpp"
#include "gqa/version.hpp"

namespace py = pybind11;

namespace gqa::python {

// The class is the package's own: it is both one of its errors and a ValueError.
void bind_errors(py::module_&) {
  py::register_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) std::rethrow_exception(pointer);
    } catch (const InputError& error) {
      const py::object type = py::module_::import("gqaverify._errors").attr("InputError");
      PyErr_SetObject(type.ptr(), type(error.code(), error.where(), error.message()).ptr());
    }
  });
}

}  // namespace gqa::python

PYBIND11_MODULE(_core, module) {
  module.doc() = "The library behind the package gqaverify.";
  module.attr("version") = gqa::version;
  gqa::python::bind_errors(module);
  gqa::python::bind_audit(module);
  gqa::python::bind_kernel(module);
}
