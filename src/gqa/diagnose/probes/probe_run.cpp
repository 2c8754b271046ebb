#include "gqa/diagnose/probes/probe_run.hpp"

#include <algorithm>
#include <array>

#include "gqa/attention/packed.hpp"
#include "gqa/audit/model_choice.hpp"
#include "gqa/diagnose/probes/habits.hpp"
#include "gqa/diagnose/probes/probe_list.hpp"

namespace gqa {
namespace {

// The worst verdict over the documents of a probe (mostly one).
void judge(ProbeResult& result, const Tolerance& tolerance) {
  if (!result.answer.output) {
    result.verdict = Verdict::error;
    return;
  }
  AuditOptions options;
  options.tolerance = tolerance;
  options.use_filter = false;  // a handful of elements
  std::vector<OutputAudit> outputs;
  result.violations = 0;
  result.where.clear();
  for (const PackedDocument& document :
       cut_documents(result.probe.tensors, result.probe.contract)) {
    const AttentionProblem problem = make_problem(document.tensors, result.probe.contract);
    outputs.push_back({"output", audit(problem, options)});
    result.violations += outputs.back().result.tally.violations;
    if (result.where.empty()) result.where = outputs.back().result.where;
  }
  result.verdict = worst_verdict(outputs);
}

bool all_pass(const std::vector<ProbeResult>& results) {
  return std::ranges::all_of(results, [](const ProbeResult& result) {
    return !result.answer.output || result.verdict == Verdict::pass;
  });
}

std::vector<Tolerance> tolerances(ElementType type, const std::optional<Tolerance>& stated) {
  if (stated) return {*stated};
  std::vector<Tolerance> all;
  ModelTolerance model;
  for (const PrecisionModel* candidate : candidate_models(std::array{type})) {
    model.model = candidate;
    model.tried.push_back(candidate);
    all.emplace_back(model);
  }
  return all;
}

bool sums_are_narrow(const Tolerance& tolerance) {
  const auto* model = std::get_if<ModelTolerance>(&tolerance);
  return model != nullptr && model->model->accumulation > 2 * binary32.unit_roundoff();
}

std::vector<DiagnosisCase> cases_of(const std::vector<ProbeResult>& results,
                                    const Tolerance& tolerance) {
  std::vector<DiagnosisCase> cases;
  for (const ProbeResult& result : results) {
    if (!result.answer.output) continue;
    DiagnosisCase problem =
        make_diagnosis_case(result.probe.tensors, result.probe.contract, tolerance);
    problem.declared.key_row_stride_factor = result.probe.key_row_stride_factor;
    cases.push_back(std::move(problem));
  }
  return cases;
}

// What is refused is asked again as a kernel with fixed habits would take it.
ProbeResult asked(const ProbeRunner& runner, Probe probe) {
  ProbeResult result;
  result.answer = runner(probe);
  if (!result.answer.supported) {
    for (Probe& adapted : adapted_probes(probe)) {
      ProbeAnswer answer = runner(adapted);
      if (!answer.supported) continue;
      result.answer = std::move(answer);
      result.probe = std::move(adapted);
      return result;
    }
  }
  result.probe = std::move(probe);
  return result;
}

}  // namespace

bool ProbeReport::has_findings() const {
  return std::ranges::any_of(
      results, [](const ProbeResult& result) { return !result.answer.finding.empty(); });
}

std::int64_t ProbeReport::count(Verdict verdict) const {
  return std::ranges::count_if(results, [verdict](const ProbeResult& result) {
    return result.answer.supported && result.verdict == verdict;
  });
}

std::int64_t ProbeReport::unsupported() const {
  return std::ranges::count_if(results,
                               [](const ProbeResult& result) { return !result.answer.supported; });
}

ProbeReport judge_probes(std::vector<ProbeResult> answered, ElementType type,
                         const std::optional<Tolerance>& tolerance, const SearchOptions& options) {
  ProbeReport report;
  report.type = type;
  report.results = std::move(answered);
  const std::vector<Tolerance> tight_to_loose = tolerances(type, tolerance);
  std::size_t tried = 0;
  bool pass = false;
  for (; tried < tight_to_loose.size() && !pass; ++tried) {
    report.tolerance = tight_to_loose[tried];
    for (ProbeResult& result : report.results) judge(result, report.tolerance);
    pass = all_pass(report.results);
  }
  if (pass && tried == 1) return report;
  // Sums in 16 bits that only a model of such sums allows are told, too: as a finding.
  if (pass && !sums_are_narrow(report.tolerance)) return report;
  const auto failed = std::span(tight_to_loose).first(pass ? tried - 1 : tried);
  Diagnosis diagnosis = diagnose(cases_of(report.results, failed.front()), failed, options);
  if (!pass || diagnosis.status == DiagnosisStatus::named) report.diagnosis = std::move(diagnosis);
  return report;
}

ProbeReport run_probes(const ProbeRunner& runner, ElementType type,
                       const std::optional<Tolerance>& tolerance, const SearchOptions& options) {
  std::vector<ProbeResult> results;
  for (Probe& probe : probes(type)) {
    results.push_back(asked(runner, std::move(probe)));
    results.back().probe.tensors.output = results.back().answer.output;
  }
  return judge_probes(std::move(results), type, tolerance, options);
}

}  // namespace gqa
