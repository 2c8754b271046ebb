// gqaverify identify: the contract that a recording fits, or that a live kernel implements.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>

#include "arguments.hpp"
#include "cluster.hpp"
#include "command.hpp"
#include "gqa/diagnose/arithmetic/kernel_arithmetic.hpp"
#include "gqa/diagnose/identify/identified_contract.hpp"
#include "gqa/diagnose/probes/identify.hpp"
#include "gqa/diagnose/probes/kernel_probes.hpp"
#include "gqa/error.hpp"
#include "gqa/io/recordings.hpp"
#include "gqa/report/arithmetic_report.hpp"
#include "gqa/report/html/pages.hpp"
#include "gqa/report/identified_report.hpp"
#include "gqa/report/probe_report.hpp"
#include "gqa/version.hpp"
#include "interruption.hpp"
#include "kernel_flags.hpp"
#include "output.hpp"
#include "page_origin_of.hpp"
#include "progress.hpp"
#include "taken_words.hpp"

namespace gqa::program {
namespace {

struct IdentifyFlags {
  std::vector<std::string> paths;
  KernelFlags kernel;
  TypeFlag type;
  ContractFlags contract;
  OperandFlags operands;
  TensorFlags tensors;
  ToleranceFlags tolerance;
  double seconds = 60;
  OutputFiles files;
};

// The worst over types; what was refused or has a finding was not verified.
ExitStatus status_of(const std::vector<ProbeReport>& reports) {
  ExitStatus status = all_holds;
  for (const ProbeReport& report : reports) {
    if (report.count(Verdict::fail) > 0 || report.has_findings()) return decided_wrong;
    if (report.count(Verdict::pass) == 0 || report.count(Verdict::undecided) > 0 ||
        report.count(Verdict::error) > 0) {
      status = undecided;
    }
  }
  return status;
}

ExitStatus identify_kernel(const IdentifyFlags& options) {
  KernelHost host = options.kernel.start();
  std::vector<ProbeReport> reports;
  std::vector<ProbeCase> shown;
  std::string text = fmt::format("{} ({})\n", host.capabilities().name, options.kernel.library());
  nlohmann::ordered_json json{{"schema", "gqaverify.identify/1"}, {"version", version}};
  json["kernel"] = host.capabilities().name;
  for (const ElementType type : probe_types(host.capabilities(), options.type.type())) {
    const ProbeRunner runner = kernel_runner(host, type);
    reports.push_back(run_probes(runner, type));
    const std::vector<IdentifiedRule> rules = identify(reports.back());
    const KernelArithmetic arithmetic =
        read_arithmetic(reports.back(), runner, experiment_limits(host.capabilities()));
    text += fmt::format("\n{}\n{}{}", name(type), identify_text(reports.back(), rules),
                        arithmetic_text(arithmetic));
    json["types"].push_back(identify_json(reports.back(), rules));
    json["types"].back()["arithmetic"] = arithmetic_json(arithmetic);
    shown.push_back({reports.back(), rules, arithmetic});
  }
  write_results(text, json, options.files, [&] {
    return probe_html(host.capabilities().name, shown, page_origin({options.kernel.library()}));
  });
  return status_of(reports);
}

IdentifiedRecording identified(Recording& recording, const IdentifyFlags& flags) {
  IdentifiedRecording result;
  result.path = recording.path;
  try {
    flags.contract.apply(recording.contract);
    flags.operands.apply(recording.tensors, recording.contract);
    IdentifyOptions options;
    options.tolerance = flags.tolerance.tolerance();
    options.seconds = flags.seconds;
    result.found = identify_contract(recording.tensors, recording.contract, options);
  } catch (const InputError& error) {
    result.error = error.what();
    result.error_code = error.code();
  }
  return result;
}

// What is told at the end, or where the work is interrupted.
struct Identification {
  const IdentifyFlags& flags;
  std::mutex guard;  // of all that follows
  std::vector<IdentifiedRecording> results;
  std::string at;  // what is worked at

  void add(IdentifiedRecording result) {
    const std::lock_guard lock(guard);
    results.push_back(std::move(result));
  }
  void start(const std::string& path) {
    const std::lock_guard lock(guard);
    at = path;
  }
};

void identify_path(const std::string& path, Identification& all) {
  std::vector<std::filesystem::path> files;
  all.start(path);
  try {
    files = find_recordings(path);
  } catch (const InputError& error) {
    all.add({path, {}, error.what(), error.code()});
  }
  // A file that cannot be read keeps nobody from the others of its folder.
  for (const std::filesystem::path& found : files) {
    all.start(found.string());
    try {
      for (Recording& recording : read_recordings(found, all.flags.tensors.choice())) {
        all.start(recording.path);
        all.add(identified(recording, all.flags));
      }
    } catch (const InputError& error) {
      all.add({found.string(), {}, error.what(), error.code()});
    }
  }
}

// The worst over recordings.
ExitStatus status_of(const std::vector<IdentifiedRecording>& results) {
  ExitStatus status = all_holds;
  for (const IdentifiedRecording& result : results) {
    if (!result.error.empty()) return bad_input;
    const bool fits =
        result.found.fit == ContractFit::declared || result.found.fit == ContractFit::found;
    if (!fits) status = result.found.cut_short && status == all_holds ? undecided : decided_wrong;
  }
  return results.empty() ? undecided : status;
}

void write_reports(const Identification& all) {
  std::string text;
  nlohmann::ordered_json json{{"schema", "gqaverify.identify/1"}, {"version", version}};
  json["recordings"] = nlohmann::ordered_json::array();
  for (const IdentifiedRecording& result : all.results) {
    text += identified_text(result);
    json["recordings"].push_back(identified_json(result));
  }
  write_results(text, json, all.flags.files,
                [&] { return identified_html(all.results, page_origin(all.flags.paths)); });
}

// Ends the process with what is known so far.
[[noreturn]] void end_interrupted(Identification& all, int number) {
  all.guard.lock();  // kept: nothing is added any more
  const ExitStatus known = status_of(all.results);
  all.results.push_back({all.at,
                         {},
                         fmt::format("interrupted by {}; what follows it was not identified",
                                     interruption_name(number)),
                         "identify.interrupted"});
  ExitStatus status = known == all_holds ? undecided : known;
  try {
    write_reports(all);
  } catch (const std::exception& error) {
    const std::string line = fmt::format("gqaverify: {}\n", error.what());
    std::fwrite(line.data(), 1, line.size(), stderr);
    status = bad_input;
  }
  std::fflush(nullptr);
  _exit(status);
}

ExitStatus identify_recordings(const IdentifyFlags& flags) {
  Identification all{flags, {}, {}, {}};
  std::optional<Interruption> interruption;
  interruption.emplace([&all](int number) { end_interrupted(all, number); });
  Progress progress("recordings", static_cast<std::int64_t>(flags.paths.size()));
  std::int64_t done = 0;
  for (const std::string& path : flags.paths) {
    identify_path(path, all);
    progress.update(++done);
  }
  interruption.reset();
  write_reports(all);
  return status_of(all.results);
}

}  // namespace

Command add_identify(CLI::App& program) {
  auto options = std::make_shared<IdentifyFlags>();
  CLI::App* app = program.add_subcommand(
      "identify", "The contract that a recording fits, or that a live kernel implements");
  app->footer(
      "PATH: recordings with query, key, value and output, as for audit. Layout, head map, causal\n"
      "rule, window, lengths, scale, softcap, sink and ALiBi are searched together; the flags and\n"
      "the file say where the search begins. What fits has passed an audit of every row.\n"
      "Example: gqaverify identify dump.npz\n"
      "\n"
      "With --kernel a kernel runs in a process of its own; src/gqa/kernel/abi.h says what it\n"
      "exports. Marks: ! differs from what was declared, ? could not be determined.\n"
      "Example: gqaverify identify --kernel ./libmykernel.so --type bfloat16");
  auto* paths = app->add_option("PATH", options->paths, "Recorded problems");
  options->kernel.add_to(*app, false);
  options->type.add_to(*app, "Element type of the probes; default: every one that it takes");
  options->tensors.add_to(*app);
  options->contract.add_to(*app);
  options->operands.add_to(*app);
  options->tolerance.add_to(*app);
  app->add_option("--seconds", options->seconds, "No step of a search begins later than that")
      ->type_name("N")
      ->check(number_between(0, 1e6))
      ->capture_default_str();
  app->callback([app, paths] {
    const bool live = app->count("--kernel") > 0;
    if (paths->count() == 0 && !live) throw CLI::RequiredError("PATH or --kernel");
    if (paths->count() > 0 && live) throw CLI::ExcludesError("PATH", "--kernel");
  });
  options->files.add_to(*app);
  return {app, [options](Cluster&) {
            return options->kernel.given() ? identify_kernel(*options)
                                           : identify_recordings(*options);
          }};
}

}  // namespace gqa::program
