#include <pybind11/stl.h>

#include <atomic>

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

// The self-check asks whether the BLAS and the processor compute rightly, which depends on the
// process more than on the problem; of a small problem it takes longer than the audit. Where nobody
// says whether it is wanted, large problems and one small problem in so many are asked.
constexpr std::uint64_t small_problems_per_check = 32;
constexpr std::size_t large_elements = std::size_t{1} << 20;

std::size_t elements_of(const std::shared_ptr<const TypedTensor>& tensor) {
  return tensor ? tensor->bytes.size() / element_size(tensor->type) : 0;
}

bool is_large(const ProblemTensors& problem) {
  return elements_of(problem.query) + elements_of(problem.key) >= large_elements;
}

// The first of a process is asked.
bool is_turn_of_small_problem() {
  static std::atomic<std::uint64_t> count{0};
  return count.fetch_add(1, std::memory_order_relaxed) % small_problems_per_check == 0;
}

std::vector<AuditCase> audit(const py::dict& tensors, const std::string& contract,
                             const std::optional<std::string>& dtype, const py::dict& tolerance,
                             const std::optional<std::int64_t>& sample, std::uint64_t seed,
                             bool diagnose, const std::optional<bool>& self_check) {
  const ProblemTensors problem = problem_tensors(tensors, dtype);
  const ToleranceWords words = tolerance_words(tolerance);
  const py::gil_scoped_release release;
  CaseOptions options;
  options.tolerance = stated_tolerance(words);
  options.accept_worst_case = words.accept_worst_case;
  options.diagnose = diagnose;
  options.audit.self_check = self_check.value_or(is_large(problem) || is_turn_of_small_problem());
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
      .def("passed", [](const AuditCase& entry) { return entry.verdict == Verdict::pass; })
      .def("json", [](const AuditCase& entry) { return case_json(entry).dump(); })
      .def("text", &case_text)
      .def("message", &assertion_text);
  module.def("audit_cases", &audit, py::arg("tensors"), py::arg("contract"), py::arg("dtype"),
             py::arg("tolerance"), py::arg("sample"), py::arg("seed"), py::arg("diagnose"),
             py::arg("self_check"));
  module.def("reference", &reference, py::arg("tensors"), py::arg("contract"), py::arg("dtype"));
}

}  // namespace gqa::python
