// gqaverify audit: recorded tensors against the certified reference.
#include <fmt/format.h>
#include <tbb/global_control.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "audit_run.hpp"
#include "command.hpp"
#include "decimal_integer.hpp"
#include "gqa/attention/problem_tensor_names.hpp"
#include "gqa/diagnose/probes/generated_problem.hpp"
#include "gqa/io/file.hpp"
#include "gqa/io/recordings.hpp"
#include "gqa/report/html/pages.hpp"
#include "gqa/report/junit.hpp"
#include "gqa/report/witness_report.hpp"
#include "interruption.hpp"
#include "kernel_flags.hpp"
#include "output.hpp"
#include "page_origin_of.hpp"
#include "progress.hpp"
#include "taken_words.hpp"

namespace gqa::program {
namespace {

struct AuditOptions {
  AuditFlags audit;
  KernelFlags kernel;
  TypeFlag type;
  std::int64_t problems = 24;
  std::uint64_t problem_seed = 1;
};

// The worst of the cases; an input that could not be read was not verified.
ExitStatus status_of(const AuditSummary& summary) {
  if (summary.error > 0) return bad_input;
  if (summary.fail > 0) return decided_wrong;
  if (summary.undecided > 0 || summary.pass == 0) return undecided;
  return all_holds;
}

// Runs the kernel on a recording's inputs and audits what it wrote.
void audit_answer(KernelHost& host, Recording& recording, ElementType type, Audit& audit) {
  try {
    audit.flags.contract.apply(recording.contract);
    const KernelRun answer = host.run(recording.tensors, recording.contract, type);
    if (answer.status == KernelStatus::unsupported) {
      audit.add(unsupported_case(recording.path));
      return;
    }
    recording.tensors.output = answer.output;
    if (answer.output) audit_recording(recording, audit);
    if (!answer.is_clean()) audit.add(finding_case(recording.path, describe(answer)));
  } catch (const InputError& error) {
    audit.add(failed_case(recording.path, error));
  }
}

void audit_generated(KernelHost& host, const AuditOptions& options, Audit& audit) {
  for (const ElementType type : probe_types(host.capabilities(), options.type.type())) {
    const auto problems =
        generated_problems(host.capabilities(), type, options.problems, options.problem_seed);
    Progress progress(fmt::format("{} in {}", host.capabilities().name, name(type)),
                      options.problems);
    std::int64_t done = 0;
    for (const GeneratedProblem& problem : problems) {
      Recording recording{fmt::format("{} in {}", problem.name, name(type)), problem.tensors,
                          problem.contract};
      audit_answer(host, recording, type, audit);
      progress.update(++done);
    }
  }
}

// Recorded inputs, with the kernel's output in the place of the recorded one.
void audit_recorded_inputs(KernelHost& host, Audit& audit) {
  for (const std::string& path : audit.flags.paths) {
    for_each_recording(path, audit, [&](Recording& recording) {
      forget_outputs(recording.tensors);
      require_present(recording.tensors.query, "query");
      audit_answer(host, recording, recording.tensors.query->type, audit);
    });
  }
}

void audit_kernel(const AuditOptions& options, Audit& audit) {
  if (audit.is_compared()) {
    throw InputError("kernel.not_repeatable", "--kernel",
                     "a live kernel need not answer alike twice: no --journal, no MPI ranks");
  }
  KernelHost host = options.kernel.start();
  if (options.audit.paths.empty()) {
    audit_generated(host, options, audit);
  } else {
    audit_recorded_inputs(host, audit);
  }
}

std::string report_text(const Audit& audit) {
  return audit_text(audit.cases,
                    audit.flags.every_case ? AuditDetail::every_case : AuditDetail::usual);
}

void write_reports(const Audit& audit) {
  write_results(
      report_text(audit), audit_json(audit.cases), audit.flags.files,
      [&audit] { return audit_html(audit.cases, page_origin(audit.flags.paths)); },
      [&audit] { return junit_xml(audit.cases); }, [&audit] { return witness_text(audit.cases); });
}

// Ends the process with what is known so far. The journal, if one is kept, has every finished
// block.
[[noreturn]] void end_interrupted(Audit& audit, int number) {
  audit.guard.lock();  // kept: nothing is added any more
  AuditCase rest;
  rest.path = audit.at.empty() ? "what follows" : audit.at;
  rest.verdict = Verdict::undecided;
  rest.error = fmt::format(
      "interrupted by {} {}; what follows it was not audited", interruption_name(number),
      audit.share > 0 ? fmt::format("after {:.0f} % of its rows", 100 * std::min(audit.share, 1.0))
                      : std::string("before its first rows"));
  if (audit.journal != nullptr) rest.error += "; the same command goes on from the journal";
  rest.error_code = "audit.interrupted";
  audit.cases.push_back(std::move(rest));
  int status = status_of(summarise(audit.cases));
  try {
    write_reports(audit);
  } catch (const std::exception& error) {
    const std::string line = fmt::format("gqaverify: {}\n", error.what());
    std::fwrite(line.data(), 1, line.size(), stderr);
    status = bad_input;
  }
  std::fflush(nullptr);
  _exit(status);
}

ExitStatus run_audit(const AuditOptions& all, Cluster& cluster) {
  const AuditFlags& options = all.audit;
  std::optional<tbb::global_control> limit;
  if (options.threads > 0) {
    limit.emplace(tbb::global_control::max_allowed_parallelism, options.threads);
  }
  std::optional<Journal> journal;
  if (!options.journal.empty() && cluster.is_first()) journal.emplace(options.journal);
  Audit audit{options, cluster, journal ? &*journal : nullptr};
  std::optional<Interruption> interruption;
  if (cluster.size() == 1) {
    interruption.emplace([&audit](int number) { end_interrupted(audit, number); });
  }
  if (all.kernel.given()) {
    audit_kernel(all, audit);
  } else {
    for (const std::string& path : options.paths) {
      for_each_recording(path, audit,
                         [&audit](Recording& recording) { audit_recording(recording, audit); });
    }
  }
  interruption.reset();
  audit.cluster.agree("the report", report_text(audit));
  if (cluster.is_first()) write_reports(audit);
  return status_of(summarise(audit.cases));
}

}  // namespace

Command add_audit(CLI::App& program) {
  auto all = std::make_shared<AuditOptions>();
  AuditFlags* options = &all->audit;
  CLI::App* app = program.add_subcommand(
      "audit", "Recorded tensors, or a live kernel, against the certified reference");
  app->footer(
      "PATH: a .safetensors or .npz file or a directory of .npy files with query, key, value\n"
      "and output (also q, Q, q_proj, query_states, ..., attn_output; \"layers.3.query\" belongs "
      "to\n"
      "a recording layers.3); an ONNX backend test; or a directory of many of those.\n"
      "With grad_output (as output) it may hold grad_query, grad_key and grad_value, beside\n"
      "output or alone: each is audited like it.\n"
      "The contract comes from the ONNX node or the safetensors metadata key \"attention\",\n"
      "then from --contract, then from the flags.\n"
      "Example: gqaverify audit layer0.safetensors --causal --max-ulp 8\n"
      "\n"
      "With --kernel the kernel of a shared object (src/gqa/kernel/abi.h) is run on generated\n"
      "problems, or on the inputs of PATH, in a process of its own.\n"
      "Example: gqaverify audit --kernel ./libmykernel.so");
  auto* paths = app->add_option("PATH", options->paths, "Recorded problems");
  all->kernel.add_to(*app, false);
  all->type.add_to(*app, "Element type of generated problems; default: all that it takes");
  app->add_option("--problems", all->problems, "Generated problems in each type")
      ->type_name("N")
      ->check(integer_between(1, 100000))
      ->capture_default_str();
  app->add_option("--problem-seed", all->problem_seed, "Chooses the generated problems")
      ->type_name("N")
      ->check(decimal_integer())
      ->capture_default_str();
  app->callback([app, paths] {
    if (paths->count() == 0 && app->count("--kernel") == 0) {
      throw CLI::RequiredError("PATH or --kernel");
    }
  });
  options->tensors.add_to(*app);
  options->contract.add_to(*app);
  options->operands.add_to(*app);
  options->tolerance.add_to(*app);
  app->add_flag("-v,--verbose", options->every_case,
                "A paragraph for every case, however many pass");
  app->add_flag("--no-filter", options->no_filter,
                "Ball arithmetic alone: the same verdicts, much slower");
  app->add_flag("--no-self-check", options->no_self_check,
                "Do not ask a few rows that the filter decided again by ball arithmetic; a\n"
                "contradiction ends the audit with status 70");
  app->add_flag("--no-diagnosis", options->no_diagnosis,
                "Verdicts alone: do not search for the fault that explains a failure");
  app->add_option("--diagnosis-seconds", options->diagnosis_seconds,
                  "End the search for an explanation after so many seconds with what it has")
      ->type_name("SECONDS")
      ->check(number_between(0, 1e6))
      ->capture_default_str();
  auto* sample = app->add_option("--sample", options->sample,
                                 "Audit a random choice of ROWS output rows of each problem");
  sample->type_name("ROWS")->check(integer_between(1, std::uint64_t{1} << 62));
  app->add_option("--seed", options->seed, "Chooses the rows; the same ones on every machine")
      ->type_name("N")
      ->check(decimal_integer())
      ->needs(sample)
      ->capture_default_str();
  app->add_option("--journal", options->journal,
                  "Keep finished blocks in FILE and go on from there after an interruption")
      ->type_name("FILE");
  app->add_option("--threads", options->threads, "Threads; 0: as many as there are cores")
      ->type_name("N")
      ->check(integer_between(0, 1024))
      ->capture_default_str();
  options->files.add_to(*app);
  app->add_option("--junit", options->files.junit,
                  "Write a JUnit XML report to FILE, - for standard output")
      ->type_name("FILE");
  app->add_option("--witness", options->files.witness,
                  "Write what the worst elements are made of to FILE, for gqaverify-recheck")
      ->type_name("FILE");
  return {app, [all](Cluster& cluster) { return run_audit(*all, cluster); }, true};
}

}  // namespace gqa::program
