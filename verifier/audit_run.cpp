#include "audit_run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gqa/attention/packed.hpp"
#include "gqa/audit/model_choice.hpp"
#include "gqa/audit/problem_digest.hpp"
#include "gqa/diagnose/recording_diagnosis.hpp"
#include "gqa/io/contract_json.hpp"
#include "gqa/io/recordings.hpp"
#include "progress.hpp"

namespace gqa::program {
namespace {

std::vector<IdentityField> identity_of(const AuditCase& entry, const ProblemTensors& tensors) {
  std::vector<IdentityField> fields{
      {"path", entry.path},
      {"contract", to_json(entry.contract)
                       .dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)}};
  for (IdentityField& field : tensor_identity(tensors)) fields.push_back(std::move(field));
  return fields;
}

AuditOptions audit_options(const Audit& audit, const AuditCase& entry,
                           const ProblemTensors& tensors) {
  AuditOptions options;
  options.use_filter = !audit.flags.no_filter;
  if (audit.flags.sample > 0) options.sample = {audit.flags.sample, audit.flags.seed};
  if (audit.is_compared()) options.identity = identity_of(entry, tensors);
  return options;
}

std::optional<SampledRows> sampled_rows(const AuditFlags& options, const Dimensions& dimensions) {
  if (options.sample == 0) return std::nullopt;
  const std::int64_t of = row_count(dimensions);
  return SampledRows{std::min(options.sample, of), of, options.seed};
}

AuditCase audit_problem(const std::string& path, const ProblemTensors& tensors,
                        const Contract& contract, Audit& audit) {
  const ToleranceFlags& flags = audit.flags.tolerance;
  AuditCase entry;
  entry.path = path;
  const std::optional<Tolerance> tolerance = flags.tolerance();
  const AttentionProblem problem = make_problem(tensors, contract);
  entry.contract = problem.contract;
  entry.dimensions = problem.dimensions;
  if (problem.output) entry.element_type = name(problem.output->type());
  // Without an output, of the gradient that comes first.
  for (const auto& gradient : {tensors.grad_query, tensors.grad_key, tensors.grad_value}) {
    if (entry.element_type.empty() && gradient) entry.element_type = name(gradient->type);
  }
  entry.sample = sampled_rows(audit.flags, problem.dimensions);
  const std::int64_t rows = entry.sample ? entry.sample->rows : row_count(problem.dimensions);
  Progress progress(path, audit.cluster.is_first() ? rows : 0);
  ClusterRunner runner(audit.cluster, audit.journal);
  AuditOptions options = audit_options(audit, entry, tensors);
  options.runner = &runner;
  options.progress = [&progress](std::int64_t done) { progress.update(done); };
  if (tolerance) {
    entry.tolerance = options.tolerance = *tolerance;
    entry.outputs = audit_outputs(problem, tensors, options);
  } else {
    ModelChoice choice =
        audit_with_candidates(problem, tensors, options, flags.accept_worst_case());
    entry.tolerance = std::move(choice.tolerance);
    entry.outputs = std::move(choice.outputs);
  }
  entry.result = entry.outputs.front().result;
  entry.verdict = worst_verdict(entry.outputs);
  return entry;
}

// An error of the audit as a whole, not of one recording.
bool ends_all(const InputError& error) {
  return error.code().starts_with("journal.") || error.code().starts_with("cluster.");
}

// Names what is wrong with the cases from `first` on, the documents of one recording.
void diagnose_cases(const Recording& recording, Audit& audit, std::size_t first) {
  std::vector<OutputAudit> outputs;
  std::size_t worst = first;
  for (std::size_t i = first; i < audit.cases.size(); ++i) {
    const AuditCase& entry = audit.cases[i];
    outputs.insert(outputs.end(), entry.outputs.begin(), entry.outputs.end());
    if (entry.verdict == Verdict::fail && audit.cases[worst].verdict != Verdict::fail) worst = i;
  }
  AuditCase& entry = audit.cases[worst];
  if (entry.verdict != Verdict::fail && entry.verdict != Verdict::pass) return;
  entry.diagnosis =
      diagnose_recording(recording.tensors, recording.contract, outputs, entry.tolerance);
}

}  // namespace

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

void audit_recording(Recording& recording, Audit& audit) {
  audit.flags.contract.apply(recording.contract);
  const std::size_t first = audit.cases.size();
  for (const PackedDocument& document : cut_documents(recording.tensors, recording.contract)) {
    const std::string path = recording.tensors.cu_seqlens_q
                                 ? fmt::format("{}: document {}", recording.path, document.index)
                                 : recording.path;
    audit.cases.push_back(audit_problem(path, document.tensors, recording.contract, audit));
  }
  if (!audit.flags.no_diagnosis) diagnose_cases(recording, audit, first);
}

void audit_path(const std::string& path, Audit& audit) {
  const auto guarded = [&audit](const std::string& place, const auto& work) {
    try {
      work();
    } catch (const InputError& error) {
      if (ends_all(error)) throw;
      audit.cases.push_back(failed_case(place, error));
      audit.cluster.agree(fmt::format("the refusal of {} ({})", place, error.what()), "");
    }
  };
  guarded(path, [&] {
    for (const std::filesystem::path& found : find_recordings(path)) {
      guarded(found.string(), [&] {
        for (Recording& recording : read_recordings(found)) {
          guarded(recording.path, [&] { audit_recording(recording, audit); });
        }
      });
    }
  });
}

}  // namespace gqa::program
