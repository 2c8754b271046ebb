#include "gqa/diagnose/recording_diagnosis.hpp"

#include <algorithm>

#include "gqa/audit/gradient_rules.hpp"
#include "gqa/audit/score_audit.hpp"
#include "gqa/diagnose/gradient_diagnosis.hpp"

namespace gqa {
namespace {

bool has_output(const std::vector<OutputAudit>& outputs) {
  return std::ranges::any_of(outputs,
                             [](const OutputAudit& entry) { return entry.name == "output"; });
}

bool gradient_fails(const std::vector<OutputAudit>& outputs) {
  return std::ranges::any_of(outputs, [](const OutputAudit& entry) {
    return gradient_kind(entry.name) && entry.result.verdict == Verdict::fail;
  });
}

bool fails(const std::vector<OutputAudit>& outputs, std::string_view output) {
  return std::ranges::any_of(outputs, [output](const OutputAudit& entry) {
    return entry.name == output && entry.result.verdict == Verdict::fail;
  });
}

// Tight to loose, the one that the audit ended with last.
std::vector<Tolerance> tolerances_of(const Tolerance& tolerance) {
  const auto* model = std::get_if<ModelTolerance>(&tolerance);
  if (model == nullptr || model->tried.empty()) return {tolerance};
  std::vector<Tolerance> all;
  for (const PrecisionModel* tried : model->tried) {
    ModelTolerance one = *model;
    one.model = tried;
    all.emplace_back(one);
  }
  return all;
}

// Modes 1 and 2 differ by the order of softcap and bias alone.
bool passes_swapped(const ProblemTensors& tensors, const Contract& contract,
                    const Tolerance& tolerance) {
  const int mode = tensors.qk_matmul_output_mode;
  if (mode != 1 && mode != 2) return false;
  AuditOptions options;
  options.tolerance = tolerance;
  const AttentionProblem problem = make_problem(tensors, contract);
  return audit_qk_matmul_output(problem, tensors.qk_matmul_output, 3 - mode, options).verdict ==
         Verdict::pass;
}

}  // namespace

Diagnosis diagnose_recording(const ProblemTensors& tensors, const Contract& contract,
                             const std::vector<OutputAudit>& outputs, const Tolerance& tolerance,
                             const SearchOptions& options) {
  Diagnosis diagnosis;
  const bool passed = worst_verdict(outputs) == Verdict::pass;
  if (!has_output(outputs)) return diagnose_gradients(tensors, contract, outputs, tolerance);
  if (passed || fails(outputs, "output")) {
    const std::vector<Tolerance> tolerances = tolerances_of(tolerance);
    DiagnosisCase problem = make_diagnosis_case(tensors, contract, tolerances.front());
    for (std::size_t n = 0; n < tolerances.size(); ++n) {
      problem.tolerance = tolerances[n];
      // Under the last one the audit has decided every element already.
      diagnosis = passed && n + 1 == tolerances.size() ? diagnose_pass(problem)
                                                       : diagnose(std::span(&problem, 1), options);
      if (diagnosis.status != DiagnosisStatus::unexplained) break;
    }
    return diagnosis;
  }
  diagnosis.tolerance = tolerance;
  if (!fails(outputs, "qk_matmul_output")) {
    return gradient_fails(outputs) ? diagnose_gradients(tensors, contract, outputs, tolerance)
                                   : diagnosis;
  }
  diagnosis.status = DiagnosisStatus::unexplained;
  if (passes_swapped(tensors, contract, tolerance)) {
    diagnosis.status = DiagnosisStatus::named;
    diagnosis.explanations.push_back({{Fault{&modes_swapped, 0}}, 0, 0});
  }
  return diagnosis;
}

}  // namespace gqa
