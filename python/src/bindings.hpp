// The parts of the module gqaverify._core; the package around it is what users see.
#pragma once

#include <pybind11/pybind11.h>

namespace gqa::python {

/// InputError as gqaverify.InputError, with `code`, `where` and `message`.
void bind_errors(pybind11::module_& module);
/// Case, audit_cases, reference.
void bind_audit(pybind11::module_& module);
/// identify, audit_kernel.
void bind_kernel(pybind11::module_& module);

}  // namespace gqa::python
