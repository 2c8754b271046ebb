#include "gqa/diagnose/cases/audit_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "gqa/attention/not_finite.hpp"
#include "gqa/attention/packed.hpp"
#include "gqa/attention/recorded_forms.hpp"
#include "gqa/audit/model_choice.hpp"
#include "gqa/audit/outputs/score_audit.hpp"
#include "gqa/audit/work/stopping_runner.hpp"
#include "gqa/diagnose/cases/recording_diagnosis.hpp"

namespace gqa {
namespace {

std::optional<SampledRows> sampled_rows(const AuditOptions& options, const Dimensions& dimensions) {
  if (!options.sample) return std::nullopt;
  const std::int64_t of = row_count(dimensions);
  return SampledRows{std::min(options.sample->rows, of), of, options.sample->seed};
}

AuditCase audit_case(const std::string& path, const ProblemTensors& tensors,
                     const Contract& contract, const CaseOptions& asked) {
  const AttentionProblem problem = make_problem(tensors, contract);
  AuditCase entry;
  entry.path = path;
  entry.contract = problem.contract;
  entry.dimensions = problem.dimensions;
  entry.operands = operands_present(problem, tensors);
  if (problem.output) entry.element_type = name(problem.output->type());
  entry.input_type = name(tensors.query->type);
  // Without an output, of the gradient that comes first.
  for (const auto& gradient : {tensors.grad_query, tensors.grad_key, tensors.grad_value}) {
    if (entry.element_type.empty() && gradient) entry.element_type = name(gradient->type);
  }
  AuditOptions options = asked.audit;
  entry.sample = sampled_rows(options, problem.dimensions);
  if (asked.prepare) asked.prepare(entry, tensors, options);
  if (asked.tolerance) {
    entry.tolerance = options.tolerance = *asked.tolerance;
    entry.outputs = audit_outputs(problem, tensors, options);
  } else {
    entry.outputs = audit_with_candidates(problem, tensors, options, asked.accept_worst_case);
    entry.tolerance = entry.outputs.front().tolerance;
  }
  entry.result = entry.outputs.front().result;
  entry.verdict = worst_verdict(entry.outputs);
  const auto reads_none = [](const OutputAudit& output) {
    return output.result.tally.not_finite_references > 0;
  };
  if (std::ranges::any_of(entry.outputs, reads_none)) {
    entry.not_finite = not_finite_inputs(tensors);
  }
  if (asked.witness) {
    entry.witness = collect_witnesses(problem, tensors, entry.outputs, options.sample);
  }
  return entry;
}

// Names what is wrong with all cases, the documents of one recording.
void diagnose_cases(const ProblemTensors& tensors, const Contract& contract, double seconds,
                    std::vector<AuditCase>& cases) {
  std::vector<OutputAudit> outputs;
  for (const AuditCase& entry : cases) {
    outputs.insert(outputs.end(), entry.outputs.begin(), entry.outputs.end());
  }
  auto worst = std::ranges::find(cases, Verdict::fail, &AuditCase::verdict);
  if (worst == cases.end()) worst = cases.begin();
  if (worst->verdict != Verdict::fail && worst->verdict != Verdict::pass) return;
  SearchOptions options;
  options.deadline = std::chrono::steady_clock::now() +
                     std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                         std::chrono::duration<double>(seconds));
  worst->diagnosis = diagnose_recording(tensors, contract, outputs, worst->tolerance, options);
}

// Single elements, far off among right ones of their rows? Another contract moves all of a row.
bool is_scattered(const AuditTally& tally, std::int64_t columns) {
  constexpr double few = 1.0 / 8, far = 100;
  const auto of_wrong_rows = static_cast<double>(tally.violating_rows.size() * columns);
  return static_cast<double>(tally.violations) < few * of_wrong_rows && !tally.worst.empty() &&
         tally.worst.front().share() > far;
}

// Another contract is wrong in many rows: where it is only in a few, the place says more.
bool output_fails_widely(const AuditCase& entry) {
  constexpr std::int64_t share = 32;
  return std::ranges::any_of(entry.outputs, [&](const OutputAudit& output) {
    if (output.name != "output" || output.result.verdict != Verdict::fail) return false;
    const AuditTally& tally = output.result.tally;
    const std::int64_t columns = std::max<std::int64_t>(entry.dimensions.value_size, 1);
    const std::int64_t rows = tally.elements / columns;
    if (is_scattered(tally, columns)) return false;
    return tally.violating_rows.size() * share >= rows;
  });
}

// Is the output explained by something that no contract says: rows of one number, or a rule that
// holds in one region and is kept elsewhere? Another head map is seen in some heads alone.
bool is_beyond_contracts(const AuditCase& entry) {
  if (!entry.diagnosis) return false;
  const auto of_output = [](const Explanation& one) { return one.tensor == "output"; };
  const auto is_local = [](const Explanation& one) {
    return !one.region.is_everywhere() && family(*one.faults.front().kind) != "head_map";
  };
  const auto is_beyond = [&](const Explanation& one) {
    return !of_output(one) || (!one.faults.empty() &&
                               (is_local(one) || family(*one.faults.front().kind) == "content"));
  };
  const auto& explanations = entry.diagnosis->explanations;
  return std::ranges::any_of(explanations, of_output) &&
         std::ranges::all_of(explanations, is_beyond);
}

// Is it another contract than the declared one that the failing output fits?
void identify_case(const ProblemTensors& tensors, const Contract& contract,
                   const CaseOptions& asked, double seconds, std::vector<AuditCase>& cases) {
  const auto failed = std::ranges::find_if(cases, output_fails_widely);
  if (failed == cases.end() || std::ranges::any_of(cases, is_beyond_contracts)) return;
  IdentifyOptions options;
  options.audit.use_filter = asked.audit.use_filter;
  options.tolerance = asked.tolerance;
  options.declared_fails = true;
  if (cases.size() == 1) options.declared_audit = &failed->outputs.front();
  // Beside a diagnosis, which says more where it says something.
  constexpr double most_seconds = 10;
  options.seconds = std::min(seconds, most_seconds);
  IdentifiedContract found = identify_contract(tensors, contract, options);
  if (found.fit == ContractFit::found || found.fit == ContractFit::nearest) {
    failed->fits = std::move(found);
  }
}

// Does the audit take more than a moment, so that a diagnosis must not take many times that? Asked
// of the multiplications, not of a clock, so that small recordings are searched alike everywhere.
bool is_long(const std::vector<AuditCase>& cases) {
  constexpr double moment = 1e8;
  double work = 0;
  for (const AuditCase& entry : cases) {
    const Dimensions& d = entry.dimensions;
    work += static_cast<double>(row_count(d)) * static_cast<double>(d.keys) *
            static_cast<double>(d.key_size + d.value_size);
  }
  return work > moment;
}

// What a diagnosis may take beside an audit of that time.
double diagnosis_limit(const CaseOptions& options, double audit_seconds,
                       const std::vector<AuditCase>& cases) {
  constexpr double least = 0.5;
  if (!is_long(cases)) return options.diagnosis_seconds;
  return std::min(options.diagnosis_seconds,
                  std::max(options.diagnosis_per_audit * audit_seconds, least));
}

// Does a failing lse pass in another of the forms in use?
void identify_lse(const ProblemTensors& tensors, const AttentionProblem& declared,
                  const OutputAudit& failed, const AuditOptions& asked, AuditCase& entry) {
  AuditOptions options = asked;
  options.tolerance = failed.tolerance;
  StoppingRunner stopping;
  stopping.ask_verdict_alone(options);
  AttentionProblem problem = declared;
  for (const LseBase base : {LseBase::e, LseBase::two}) {
    for (const LseEmpty empty : {LseEmpty::minus_infinity, LseEmpty::plus_infinity}) {
      problem.contract.lse = {base, empty, LseLayout::bht};
      if (problem.contract.lse == declared.contract.lse) continue;
      if (audit_lse(problem, tensors.lse, options).verdict != Verdict::pass) continue;
      entry.lse_fits = problem.contract.lse;
      return;
    }
  }
}

void identify_lse(const ProblemTensors& tensors, const CaseOptions& asked, AuditCase& entry) {
  for (const OutputAudit& output : entry.outputs) {
    if (output.name != "lse" || output.result.verdict != Verdict::fail) continue;
    AuditOptions options;
    options.use_filter = asked.audit.use_filter;
    options.sample = asked.audit.sample;
    identify_lse(tensors, make_problem(tensors, entry.contract), output, options, entry);
  }
}

void draw_case(const ProblemTensors& tensors, const Contract& contract, AuditCase& entry) {
  // Gradients alone have no picture.
  if (!entry.result || !tensors.output) return;
  entry.pictures = audit_pictures(tensors, contract, entry.tolerance, entry.result->tally.worst,
                                  entry.diagnosis ? &*entry.diagnosis : nullptr);
}

}  // namespace

std::vector<AuditCase> audit_cases(const std::string& path, const ProblemTensors& recorded,
                                   const Contract& declared, const CaseOptions& options) {
  const auto [tensors, contract] = plain_recording(recorded, declared);
  std::vector<AuditCase> cases;
  const std::vector<PackedDocument> documents = cut_documents(tensors, contract);
  using Clock = std::chrono::steady_clock;
  auto start = Clock::now();
  // Since the last time that it was asked.
  const auto seconds = [&start] {
    const auto before = std::exchange(start, Clock::now());
    return std::chrono::duration<double>(start - before).count();
  };
  for (const PackedDocument& document : documents) {
    const std::string place =
        tensors.cu_seqlens_q ? fmt::format("{}: document {}", path, document.index) : path;
    cases.push_back(audit_case(place, document.tensors, contract, options));
    cases.back().seconds = seconds();
    if (cases.back().witness && tensors.cu_seqlens_q) {
      cases.back().witness->document = document.index;
    }
  }
  if (options.diagnose) {
    double audit_seconds = 0;
    for (const AuditCase& entry : cases) audit_seconds += entry.seconds;
    const double limit = diagnosis_limit(options, audit_seconds, cases);
    diagnose_cases(tensors, contract, limit, cases);
    const double diagnosed = seconds();
    if (diagnosed < limit) identify_case(tensors, contract, options, limit - diagnosed, cases);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      identify_lse(documents[i].tensors, options, cases[i]);
    }
    if (!cases.empty()) cases.front().seconds += diagnosed + seconds();
  }
  for (std::size_t i = 0; options.draw && i < cases.size(); ++i) {
    draw_case(documents[i].tensors, contract, cases[i]);
  }
  return cases;
}

AuditCase failed_case(const std::string& path, const InputError& error) {
  AuditCase entry;
  entry.path = path;
  entry.verdict = Verdict::error;
  entry.error = error.what();
  entry.error_code = error.code();
  return entry;
}

AuditCase finding_case(const std::string& path, const std::string& finding) {
  AuditCase entry;
  entry.path = path;
  entry.verdict = Verdict::fail;
  entry.error = finding;
  entry.error_code = "kernel.finding";
  return entry;
}

AuditCase unsupported_case(const std::string& path) {
  AuditCase entry;
  entry.path = path;
  entry.verdict = Verdict::undecided;
  entry.error = "the kernel does not support this problem";
  entry.error_code = "kernel.unsupported";
  return entry;
}

}  // namespace gqa
