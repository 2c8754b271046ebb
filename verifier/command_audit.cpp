// gqaverify audit: recorded tensors against the certified reference.
#include <fmt/format.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <memory>

#include "arguments.hpp"
#include "cluster.hpp"
#include "command.hpp"
#include "gqa/attention/packed.hpp"
#include "gqa/audit/journal.hpp"
#include "gqa/audit/model_choice.hpp"
#include "gqa/audit/problem_digest.hpp"
#include "gqa/diagnose/recording_diagnosis.hpp"
#include "gqa/error.hpp"
#include "gqa/io/contract_json.hpp"
#include "gqa/io/file.hpp"
#include "gqa/io/recordings.hpp"
#include "gqa/report/audit_report.hpp"
#include "gqa/report/junit.hpp"
#include "output.hpp"
#include "progress.hpp"

namespace gqa::program {
namespace {

struct Options {
  std::vector<std::string> paths;
  ContractFlags contract;
  ToleranceFlags tolerance;
  std::size_t threads = 0;
  bool no_filter = false;
  bool no_diagnosis = false;
  std::int64_t sample = 0;  // 0: all rows
  std::uint64_t seed = 0;
  std::string journal;
  std::string json;
  std::string junit;
};

// One audit of all paths: what was asked for, and who works on it.
struct Audit {
  const Options& options;
  Cluster& cluster;
  Journal* journal = nullptr;  // of the first rank, if one is kept
  std::vector<AuditCase> cases = {};

  bool is_compared() const { return cluster.size() > 1 || !options.journal.empty(); }
};

AuditCase failed_case(const std::string& path, const InputError& error) {
  AuditCase entry;
  entry.path = path;
  entry.verdict = Verdict::error;
  entry.error = error.what();
  entry.error_code = error.code();
  return entry;
}

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
  options.use_filter = !audit.options.no_filter;
  if (audit.options.sample > 0) options.sample = {audit.options.sample, audit.options.seed};
  if (audit.is_compared()) options.identity = identity_of(entry, tensors);
  return options;
}

std::optional<SampledRows> sampled_rows(const Options& options, const Dimensions& dimensions) {
  if (options.sample == 0) return std::nullopt;
  const std::int64_t of = row_count(dimensions);
  return SampledRows{std::min(options.sample, of), of, options.seed};
}

AuditCase audit_problem(const std::string& path, const ProblemTensors& tensors,
                        const Contract& contract, Audit& audit) {
  const ToleranceFlags& flags = audit.options.tolerance;
  AuditCase entry;
  entry.path = path;
  const std::optional<Tolerance> tolerance = flags.tolerance();
  const AttentionProblem problem = make_problem(tensors, contract);
  entry.contract = problem.contract;
  entry.dimensions = problem.dimensions;
  if (problem.output) entry.element_type = name(problem.output->type());
  entry.sample = sampled_rows(audit.options, problem.dimensions);
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

// One case, or one for each document of a packed recording.
void audit_recording(Recording& recording, Audit& audit) {
  audit.options.contract.apply(recording.contract);
  const std::size_t first = audit.cases.size();
  for (const PackedDocument& document : cut_documents(recording.tensors, recording.contract)) {
    const std::string path = recording.tensors.cu_seqlens_q
                                 ? fmt::format("{}: document {}", recording.path, document.index)
                                 : recording.path;
    audit.cases.push_back(audit_problem(path, document.tensors, recording.contract, audit));
  }
  if (!audit.options.no_diagnosis) diagnose_cases(recording, audit, first);
}

// All cases at a path; one that cannot be read is a case of its own, and the rest goes on.
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

// The worst of the cases; an input that could not be read was not verified.
ExitStatus status_of(const AuditSummary& summary) {
  if (summary.error > 0) return bad_input;
  if (summary.fail > 0) return decided_wrong;
  if (summary.undecided > 0 || summary.pass == 0) return undecided;
  return all_holds;
}

ExitStatus run(const Options& options, Cluster& cluster) {
  std::optional<tbb::global_control> limit;
  if (options.threads > 0) {
    limit.emplace(tbb::global_control::max_allowed_parallelism, options.threads);
  }
  std::optional<Journal> journal;
  if (!options.journal.empty() && cluster.is_first()) journal.emplace(options.journal);
  Audit audit{options, cluster, journal ? &*journal : nullptr};
  for (const std::string& path : options.paths) audit_path(path, audit);
  const std::string text = audit_text(audit.cases);
  cluster.agree("the report", text);
  if (cluster.is_first()) {
    if (!options.junit.empty()) write_file_atomically(options.junit, junit_xml(audit.cases));
    write_results(text, audit_json(audit.cases), options.json);
  }
  return status_of(summarise(audit.cases));
}

}  // namespace

Command add_audit(CLI::App& program) {
  auto options = std::make_shared<Options>();
  CLI::App* app = program.add_subcommand(
      "audit", "Recorded tensors against the certified reference, element by element");
  app->footer(
      "PATH: a .safetensors or .npz file or a directory of .npy files with query, key, value\n"
      "and output (also q, k, v, o); an ONNX backend test; or a directory of many of those.\n"
      "The contract comes from the ONNX node or the safetensors metadata key \"attention\",\n"
      "then from --contract, then from the flags.\n"
      "Example: gqaverify audit layer0.safetensors --causal --max-ulp 8");
  app->add_option("PATH", options->paths, "Recorded problems")->required();
  options->contract.add_to(*app);
  options->tolerance.add_to(*app);
  app->add_flag("--no-filter", options->no_filter,
                "Ball arithmetic alone: the same verdicts, much slower");
  app->add_flag("--no-diagnosis", options->no_diagnosis,
                "Verdicts alone: do not search for the fault that explains a failure");
  auto* sample = app->add_option("--sample", options->sample,
                                 "Audit a random choice of ROWS output rows of each problem");
  sample->type_name("ROWS")->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 62));
  app->add_option("--seed", options->seed, "Chooses the rows; the same ones on every machine")
      ->type_name("N")
      ->needs(sample)
      ->capture_default_str();
  app->add_option("--journal", options->journal,
                  "Keep finished blocks in FILE and go on from there after an interruption")
      ->type_name("FILE");
  app->add_option("--threads", options->threads, "Threads; 0: as many as there are cores")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  app->add_option("--json", options->json, "Write JSON to FILE, - for standard output")
      ->type_name("FILE");
  app->add_option("--junit", options->junit, "Write a JUnit XML report to FILE")->type_name("FILE");
  return {app, [options](Cluster& cluster) { return run(*options, cluster); }, true};
}

}  // namespace gqa::program
