#include <pybind11/stl.h>

#include "array_result.hpp"
#include "bindings.hpp"
#include "gqa/audit/enclose/reference.hpp"
#include "gqa/diagnose/cases/audit_case.hpp"
#include "gqa/error.hpp"
#include "gqa/report/audit_report.hpp"
#include "problem_argument.hpp"

namespace py = pybind11;

namespace gqa::python {
namespace {

std::vector<AuditCase> audit(const py::dict& tensors, const std::string& contract,
                             const std::optional<std::string>& dtype, const py::dict& tolerance,
                             const std::optional<std::int64_t>& sample, std::uint64_t seed,
                             bool diagnose, bool self_check) {
  const ProblemTensors problem = problem_tensors(tensors, dtype);
  const ToleranceWords words = tolerance_words(tolerance);
  const py::gil_scoped_release release;
  CaseOptions options;
  options.tolerance = stated_tolerance(words);
  options.accept_worst_case = words.accept_worst_case;
  options.diagnose = diagnose;
  options.audit.self_check = self_check;
  if (sample) options.audit.sample = RowSample{*sample, seed};
  return audit_cases("attention", problem, stated_contract(contract), options);
}

py::tuple reference(const py::dict& tensors, const std::string& contract,
                    const std::optional<std::string>& dtype) {
  const ProblemTensors problem = problem_tensors(tensors, dtype);
  std::optional<CertifiedReference> result;
  {
    const py::gil_scoped_release release;
    result = certified_reference(make_problem(problem, stated_contract(contract)));
  }
  return py::make_tuple(array_of(result->value), array_of(result->radius));
}

}  // namespace

void bind_audit(py::module_& module) {
  // Texts and JSON are made once: the package reads the JSON, as programs do.
  py::class_<AuditCase>(module, "Case")
      .def("json", [](const AuditCase& entry) { return case_json(entry).dump(); })
      .def("text", &case_text)
      .def("message", &assertion_text);
  module.def("audit_cases", &audit, py::arg("tensors"), py::arg("contract"), py::arg("dtype"),
             py::arg("tolerance"), py::arg("sample"), py::arg("seed"), py::arg("diagnose"),
             py::arg("self_check"));
  module.def("reference", &reference, py::arg("tensors"), py::arg("contract"), py::arg("dtype"));
}

}  // namespace gqa::python
