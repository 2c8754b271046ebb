#include "gqa/diagnose/cases/recording_diagnosis.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gqa/audit/gradient_rules.hpp"
#include "gqa/audit/work/row_selection.hpp"
#include "gqa/diagnose/tensors/gradient_diagnosis.hpp"
#include "gqa/diagnose/tensors/rounding_diagnosis.hpp"
#include "gqa/diagnose/tensors/side_tensor.hpp"

namespace gqa {
namespace {

bool gradient_fails(const std::vector<OutputAudit>& outputs) {
  return std::ranges::any_of(outputs, [](const OutputAudit& entry) {
    return gradient_kind(entry.name) && entry.result.verdict == Verdict::fail;
  });
}

// The names of the outputs that fail, once each, without the gradients.
std::vector<std::string> failing_tensors(const std::vector<OutputAudit>& outputs) {
  std::vector<std::string> names;
  for (const OutputAudit& entry : outputs) {
    if (entry.result.verdict == Verdict::fail && !gradient_kind(entry.name) &&
        std::ranges::find(names, entry.name) == names.end()) {
      names.push_back(entry.name);
    }
  }
  return names;
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

// The rows of the worst elements. Of a packed recording they are counted in their documents.
std::vector<RowPlace> suspects_of(const ProblemTensors& tensors,
                                  const std::vector<OutputAudit>& outputs) {
  std::vector<RowPlace> places;
  if (tensors.cu_seqlens_q) return places;
  const auto output = std::ranges::find(outputs, "output", &OutputAudit::name);
  if (output == outputs.end()) return places;
  for (const WorstElement& element : output->result.tally.worst) {
    const RowPlace place{element.index[0], element.index[1], element.index[2]};
    if (element.within.certainly_not() && std::ranges::find(places, place) == places.end()) {
      places.push_back(place);
    }
  }
  return places;
}

// What the audit knows of every row of `output`, where it asked every row.
std::shared_ptr<const WrongRows> audited_rows(const Behaviour& declared,
                                              const ProblemTensors& tensors,
                                              const std::vector<OutputAudit>& outputs) {
  const auto output = std::ranges::find(outputs, "output", &OutputAudit::name);
  if (tensors.cu_seqlens_q || output == outputs.end()) return nullptr;
  Dimensions d;
  d.batch = declared.batch();
  d.q_heads = declared.query_heads();
  d.queries = declared.queries();
  d.value_size = declared.value_size();
  const AuditTally& tally = output->result.tally;
  const bool asked_all = tally.elements == row_count(d) * d.value_size;
  if (!asked_all || tally.violating_rows.empty()) return nullptr;
  return std::make_shared<const WrongRows>(tally, d);
}

std::string where_of(const std::vector<OutputAudit>& outputs, const std::string& tensor) {
  for (const OutputAudit& entry : outputs) {
    if (entry.name == tensor && entry.result.verdict == Verdict::fail) return entry.result.where;
  }
  return "";
}

// What is said of one tensor whose explanations are known.
TensorAccount account_of(const std::string& tensor, const std::vector<Explanation>& explanations,
                         const std::vector<OutputAudit>& outputs) {
  TensorAccount account{tensor, status_of(explanations), ""};
  for (const Explanation& one : explanations) {
    account.sentence += (account.sentence.empty() ? "" : "; or just as well: ") + one.sentence();
  }
  if (explanations.empty()) {
    account.sentence = fmt::format("{}: unexplained", tensor);
    const std::string where = where_of(outputs, tensor);
    if (!where.empty()) account.sentence += fmt::format(" (wrong in {})", where);
  }
  return account;
}

void add_account(Diagnosis& diagnosis, TensorAccount account) {
  diagnosis.status = std::max(diagnosis.status, account.status);
  diagnosis.tensors.push_back(std::move(account));
}

void explain_output(Diagnosis& diagnosis, const DiagnosisCase& problem,
                    const std::vector<OutputAudit>& outputs,
                    const std::vector<Tolerance>& tolerances, const SearchOptions& options) {
  Diagnosis of_output = diagnose(std::span(&problem, 1), tolerances, options);
  // The audit knows of wrong rows that are not among those compared.
  if (of_output.status == DiagnosisStatus::none) {
    of_output.status = DiagnosisStatus::unexplained;
    of_output.inseparable.clear();
    of_output.hidden = {};
  }
  diagnosis = std::move(of_output);
  diagnosis.status = DiagnosisStatus::none;
  add_account(diagnosis, account_of("output", diagnosis.explanations, outputs));
}

void explain_side(Diagnosis& diagnosis, const std::string& name, const ProblemTensors& tensors,
                  const DiagnosisCase& problem, const std::vector<OutputAudit>& outputs) {
  std::vector<Explanation> of_output;
  std::ranges::copy_if(diagnosis.explanations, std::back_inserter(of_output),
                       [](const Explanation& one) { return one.tensor == "output"; });
  std::vector<Explanation> found;
  if (const auto side = SideTensor::of(name, tensors)) found = side->explain(problem, of_output);
  add_account(diagnosis, account_of(name, found, outputs));
  diagnosis.explanations.insert(diagnosis.explanations.end(), found.begin(), found.end());
}

void join_gradients(Diagnosis& diagnosis, Diagnosis of_gradients) {
  for (TensorAccount& account : of_gradients.tensors) add_account(diagnosis, std::move(account));
  diagnosis.candidates += of_gradients.candidates;
  for (auto& one : of_gradients.explanations) diagnosis.explanations.push_back(std::move(one));
  for (auto& line : of_gradients.measurements) diagnosis.measurements.push_back(std::move(line));
}

// What the inputs of a recording that passed cannot show. A backward pass alone has no output whose
// rows could be asked.
Diagnosis diagnose_passed(const ProblemTensors& tensors, const Contract& contract,
                          const Tolerance& tolerance) {
  if (tensors.output) return diagnose_pass(make_diagnosis_case(tensors, contract, tolerance));
  Diagnosis diagnosis;
  diagnosis.tolerance = tolerance;
  return diagnosis;
}

}  // namespace

Diagnosis diagnose_recording(const ProblemTensors& tensors, const Contract& contract,
                             const std::vector<OutputAudit>& outputs, const Tolerance& tolerance,
                             const SearchOptions& options) {
  if (worst_verdict(outputs) == Verdict::pass) {
    return diagnose_passed(tensors, contract, tolerance);
  }
  if (auto rounding = diagnose_rounding(tensors, contract, outputs, tolerance)) return *rounding;
  Diagnosis diagnosis;
  diagnosis.tolerance = tolerance;
  const std::vector<std::string> failing = failing_tensors(outputs);
  if (!failing.empty() && tensors.output) {
    const std::vector<Tolerance> tolerances = tolerances_of(tolerance);
    DiagnosisCase problem = make_diagnosis_case(tensors, contract, tolerances.back());
    problem.suspects = suspects_of(tensors, outputs);
    problem.audited = audited_rows(problem.declared, tensors, outputs);
    for (const std::string& name : failing) {
      if (name == "output") {
        explain_output(diagnosis, problem, outputs, tolerances, options);
      } else {
        explain_side(diagnosis, name, tensors, problem, outputs);
      }
    }
  }
  if (gradient_fails(outputs)) {
    join_gradients(diagnosis, diagnose_gradients(tensors, contract, outputs, tolerance));
  }
  return diagnosis;
}

}  // namespace gqa
