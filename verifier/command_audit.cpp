// gqaverify audit: recorded tensors against the certified reference.
#include <fmt/format.h>
#include <tbb/global_control.h>

#include <memory>

#include "arguments.hpp"
#include "command.hpp"
#include "gqa/attention/packed.hpp"
#include "gqa/audit/model_choice.hpp"
#include "gqa/error.hpp"
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
  std::string json;
  std::string junit;
};

AuditCase failed_case(const std::string& path, const InputError& error) {
  AuditCase entry;
  entry.path = path;
  entry.verdict = Verdict::error;
  entry.error = error.what();
  entry.error_code = error.code();
  return entry;
}

AuditCase audit_problem(const std::string& path, const ProblemTensors& tensors,
                        const Contract& contract, const Options& options) {
  AuditCase entry;
  entry.path = path;
  const std::optional<Tolerance> tolerance = options.tolerance.tolerance();
  const AttentionProblem problem = make_problem(tensors, contract);
  entry.contract = problem.contract;
  entry.dimensions = problem.dimensions;
  if (problem.output) entry.element_type = name(problem.output->type());
  const Dimensions& d = problem.dimensions;
  Progress progress(path, d.batch * d.q_heads * d.queries);
  AuditOptions audit_options;
  audit_options.use_filter = !options.no_filter;
  audit_options.progress = [&progress](std::int64_t rows) { progress.update(rows); };
  if (tolerance) {
    entry.tolerance = audit_options.tolerance = *tolerance;
    entry.outputs = audit_outputs(problem, tensors, audit_options);
  } else {
    ModelChoice choice = audit_with_candidates(problem, tensors, audit_options,
                                               options.tolerance.accept_worst_case());
    entry.tolerance = std::move(choice.tolerance);
    entry.outputs = std::move(choice.outputs);
  }
  entry.result = entry.outputs.front().result;
  entry.verdict = worst_verdict(entry.outputs);
  return entry;
}

// One case, or one for each document of a packed recording.
void audit_recording(Recording& recording, const Options& options, std::vector<AuditCase>& cases) {
  options.contract.apply(recording.contract);
  for (const PackedDocument& document : cut_documents(recording.tensors, recording.contract)) {
    const std::string path = recording.tensors.cu_seqlens_q
                                 ? fmt::format("{}: document {}", recording.path, document.index)
                                 : recording.path;
    cases.push_back(audit_problem(path, document.tensors, recording.contract, options));
  }
}

// All cases at a path; one that cannot be read is a case of its own, and the rest goes on.
void audit_path(const std::string& path, const Options& options, std::vector<AuditCase>& cases) {
  const auto guarded = [&cases](const std::string& place, const auto& work) {
    try {
      work();
    } catch (const InputError& error) {
      cases.push_back(failed_case(place, error));
    }
  };
  guarded(path, [&] {
    for (const std::filesystem::path& found : find_recordings(path)) {
      guarded(found.string(), [&] {
        for (Recording& recording : read_recordings(found)) {
          guarded(recording.path, [&] { audit_recording(recording, options, cases); });
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

ExitStatus run(const Options& options) {
  std::optional<tbb::global_control> limit;
  if (options.threads > 0) {
    limit.emplace(tbb::global_control::max_allowed_parallelism, options.threads);
  }
  std::vector<AuditCase> cases;
  for (const std::string& path : options.paths) audit_path(path, options, cases);
  if (!options.junit.empty()) write_file_atomically(options.junit, junit_xml(cases));
  write_results(audit_text(cases), audit_json(cases), options.json);
  return status_of(summarise(cases));
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
  app->add_option("--threads", options->threads, "Threads; 0: as many as there are cores")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  app->add_option("--json", options->json, "Write JSON to FILE, - for standard output")
      ->type_name("FILE");
  app->add_option("--junit", options->junit, "Write a JUnit XML report to FILE")->type_name("FILE");
  return {app, [options] { return run(*options); }};
}

}  // namespace gqa::program
