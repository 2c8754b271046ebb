#include "gqa/diagnose/tensors/rounding_diagnosis.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gqa/attention/packed.hpp"
#include "gqa/audit/gradient_rules.hpp"
#include "gqa/audit/model_choice.hpp"
#include "gqa/diagnose/tensors/backward_search.hpp"

namespace gqa {
namespace {

// Rows that are asked before every element is: wrong ones, as far as they are known, and others.
std::vector<RowPlace> asked_places(const DiagnosisCase& problem,
                                   const std::vector<OutputAudit>& outputs) {
  constexpr std::int64_t most = 24;
  std::vector<RowPlace> places = places_of(problem.declared, most);
  if (outputs.size() == 1 || outputs.front().name == "output") {
    for (const WorstElement& element : outputs.front().result.tally.worst) {
      const RowPlace place{element.index[0], element.index[1], element.index[2]};
      if (place.row < problem.declared.queries()) places.push_back(place);
    }
  }
  return places;
}

// Every row asked matches, and in most of them zeros would not.
bool may_explain(const DiagnosisCase& problem, const std::vector<RowPlace>& places) {
  std::size_t rows = 0, not_null = 0;
  for (const RowPlace& place : places) {
    const RowComparison compared = compare_roughly(problem, problem.declared, place);
    if (!compared.matches) return false;
    bool differs = false, refuted = false;
    for (std::size_t c = 0; c < compared.allowed.size(); ++c) {
      const double magnitude = std::abs(compared.expected.output[c]);
      const bool is_nan = compared.expected.is_nan[c] != 0;
      differs = differs || is_nan || magnitude > 0;
      refuted = refuted || is_nan || magnitude > compared.allowed[c];
    }
    rows += differs ? 1 : 0;
    not_null += refuted ? 1 : 0;
  }
  return 2 * not_null > rows || rows == 0;
}

bool all_pass_under(const ProblemTensors& tensors, const Contract& contract,
                    const Tolerance& tolerance) {
  AuditOptions options;
  options.tolerance = tolerance;
  for (const PackedDocument& document : cut_documents(tensors, contract)) {
    const AttentionProblem problem = make_problem(document.tensors, contract);
    if (worst_verdict(audit_outputs(problem, document.tensors, options)) != Verdict::pass) {
      return false;
    }
  }
  return true;
}

// Zeros, and other gradients, may be within what a wide bound allows: what is only rounding is near
// the right gradient, in the mean square, compared with its size.
bool gradients_are_near(const ProblemTensors& tensors, const Contract& contract,
                        const std::vector<OutputAudit>& outputs, const Tolerance& tolerance) {
  std::optional<BackwardSearch> search;
  for (const OutputAudit& output : outputs) {
    const auto kind = gradient_kind(output.name);
    if (!kind || output.result.verdict != Verdict::fail) continue;
    if (tensors.cu_seqlens_q) return false;
    if (!search) search.emplace(tensors, contract, tolerance);
    if (!search->is_near_declared(*kind)) return false;
  }
  return true;
}

std::vector<const PrecisionModel*> models_of_recording(const ProblemTensors& tensors,
                                                       const Contract& contract) {
  const PackedDocument first = cut_documents(tensors, contract).front();
  return candidate_models(make_problem(first.tensors, contract), first.tensors);
}

}  // namespace

std::optional<Diagnosis> diagnose_rounding(const ProblemTensors& tensors, const Contract& contract,
                                           const std::vector<OutputAudit>& outputs,
                                           const Tolerance& tolerance) {
  if (std::holds_alternative<ModelTolerance>(tolerance) || !tensors.output) return std::nullopt;
  DiagnosisCase problem = make_diagnosis_case(tensors, contract, tolerance);
  const std::vector<RowPlace> places = asked_places(problem, outputs);
  for (const PrecisionModel* model : models_of_recording(tensors, contract)) {
    problem.tolerance = ModelTolerance{model};
    if (!may_explain(problem, places) ||
        !gradients_are_near(tensors, contract, outputs, problem.tolerance)) {
      continue;
    }
    if (!all_pass_under(tensors, contract, problem.tolerance)) continue;
    Diagnosis diagnosis;
    diagnosis.status = DiagnosisStatus::rounding;
    diagnosis.tolerance = problem.tolerance;
    const std::string sentence = fmt::format(
        "only rounding: every element is within what precision model {} allows", model->name);
    for (const OutputAudit& output : outputs) {
      const bool told = std::ranges::find(diagnosis.tensors, output.name, &TensorAccount::tensor) !=
                        diagnosis.tensors.end();
      if (output.result.verdict == Verdict::fail && !told) {
        diagnosis.tensors.push_back({output.name, DiagnosisStatus::rounding, sentence});
      }
    }
    return diagnosis;
  }
  return std::nullopt;
}

}  // namespace gqa
