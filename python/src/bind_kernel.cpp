#include <pybind11/stl.h>

#include "bindings.hpp"
#include "gqa/diagnose/arithmetic/kernel_arithmetic.hpp"
#include "gqa/diagnose/cases/audit_case.hpp"
#include "gqa/diagnose/probes/generated_problem.hpp"
#include "gqa/diagnose/probes/identify.hpp"
#include "gqa/diagnose/probes/kernel_probes.hpp"
#include "gqa/error.hpp"
#include "gqa/report/arithmetic_report.hpp"
#include "gqa/report/audit_report.hpp"
#include "gqa/report/probe_report.hpp"
#include "gqa/version.hpp"
#include "problem_argument.hpp"
#include "python_kernel.hpp"
#include "tensor_argument.hpp"

namespace py = pybind11;

namespace gqa::python {
namespace {

ProbeRunner runner_of(const PythonKernel& kernel, ElementType type) {
  return [&kernel, type](const Probe& probe) {
    ProbeAnswer refused;
    refused.supported = false;
    if (!is_supported(kernel.capabilities(), probe, type)) return refused;
    return kernel.run(probe.tensors, probe.contract, type, probe.key_row_stride_factor);
  };
}

std::vector<ElementType> types_of(const std::vector<std::string>& names) {
  std::vector<ElementType> types;
  for (const std::string& name : names) {
    types.push_back(element_type_named(name, "dtype"));
    if (float_format(types.back()) != nullptr) continue;
    throw InputError("tensor.element_type", "dtype", name + " is not floating point");
  }
  return types;
}

// (JSON "gqaverify.identify/1", text)
py::tuple identify_callable(const py::object& adapter, const std::vector<std::string>& dtypes) {
  const PythonKernel kernel(adapter);
  std::string text;
  nlohmann::ordered_json json{{"schema", "gqaverify.identify/1"}, {"version", version}};
  {
    const py::gil_scoped_release release;
    json["kernel"] = kernel.capabilities().name;
    for (const ElementType type : types_of(dtypes)) {
      const ProbeRunner runner = runner_of(kernel, type);
      const ProbeReport report = run_probes(runner, type);
      const std::vector<IdentifiedRule> rules = identify(report);
      const KernelArithmetic arithmetic =
          read_arithmetic(report, runner, experiment_limits(kernel.capabilities()));
      text += std::string(name(type)) + "\n" + identify_text(report, rules) +
              arithmetic_text(arithmetic);
      json["types"].push_back(identify_json(report, rules));
      json["types"].back()["arithmetic"] = arithmetic_json(arithmetic);
    }
  }
  return py::make_tuple(json.dump(), text);
}

void audit_answer(const PythonKernel& kernel, GeneratedProblem& problem, ElementType type,
                  const CaseOptions& options, std::vector<AuditCase>& cases) {
  const std::string path = problem.name + " in " + std::string(name(type));
  const ProbeAnswer answer = kernel.run(problem.tensors, problem.contract, type);
  if (!answer.supported) {
    cases.push_back(unsupported_case(path));
    return;
  }
  if (answer.output) {
    problem.tensors.output = answer.output;
    for (AuditCase& entry : audit_cases(path, problem.tensors, problem.contract, options)) {
      cases.push_back(std::move(entry));
    }
  }
  if (!answer.finding.empty()) cases.push_back(finding_case(path, answer.finding));
}

// (JSON "gqaverify.audit/1", text, cases)
py::tuple audit_callable(const py::object& adapter, const std::vector<std::string>& dtypes,
                         const std::string& contract, const py::dict& tolerance,
                         std::int64_t problems, std::uint64_t seed) {
  const PythonKernel kernel(adapter);
  const ToleranceWords words = tolerance_words(tolerance);
  std::vector<AuditCase> cases;
  {
    const py::gil_scoped_release release;
    CaseOptions options;
    options.tolerance = stated_tolerance(words);
    options.accept_worst_case = words.accept_worst_case;
    for (const ElementType type : types_of(dtypes)) {
      for (GeneratedProblem& problem :
           generated_problems(kernel.capabilities(), type, problems, seed)) {
        state_contract(contract, problem.contract);
        audit_answer(kernel, problem, type, options, cases);
      }
    }
  }
  const std::string json = audit_json(cases).dump();
  const std::string text = audit_text(cases);
  return py::make_tuple(json, text, std::move(cases));
}

}  // namespace

void bind_kernel(py::module_& module) {
  module.def("identify", &identify_callable, py::arg("adapter"), py::arg("dtypes"));
  module.def("audit_kernel", &audit_callable, py::arg("adapter"), py::arg("dtypes"),
             py::arg("contract"), py::arg("tolerance"), py::arg("problems"), py::arg("seed"));
}

}  // namespace gqa::python
