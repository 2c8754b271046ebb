// gqaverify identify: the contract that a live kernel implements, beside the declared one.
#include <fmt/format.h>

#include <memory>

#include "cluster.hpp"
#include "command.hpp"
#include "gqa/diagnose/probes/identify.hpp"
#include "gqa/diagnose/probes/kernel_probes.hpp"
#include "gqa/report/html/pages.hpp"
#include "gqa/report/probe_report.hpp"
#include "gqa/version.hpp"
#include "kernel_flags.hpp"
#include "output.hpp"

namespace gqa::program {
namespace {

struct IdentifyOptions {
  KernelFlags kernel;
  TypeFlag type;
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

ExitStatus run_identify(const IdentifyOptions& options) {
  KernelHost host = options.kernel.start();
  std::vector<ProbeReport> reports;
  std::vector<ProbeCase> shown;
  std::string text = fmt::format("{} ({})\n", host.capabilities().name, options.kernel.library());
  nlohmann::ordered_json json{{"schema", "gqaverify.identify/1"}, {"version", version}};
  json["kernel"] = host.capabilities().name;
  for (const ElementType type : probe_types(host.capabilities(), options.type.type())) {
    reports.push_back(run_probes(kernel_runner(host, type), type));
    const std::vector<IdentifiedRule> rules = identify(reports.back());
    text += fmt::format("\n{}\n{}", name(type), identify_text(reports.back(), rules));
    json["types"].push_back(identify_json(reports.back(), rules));
    shown.push_back({reports.back(), rules});
  }
  write_results(text, json, options.files,
                [&] { return probe_html(host.capabilities().name, shown); });
  return status_of(reports);
}

}  // namespace

Command add_identify(CLI::App& program) {
  auto options = std::make_shared<IdentifyOptions>();
  CLI::App* app = program.add_subcommand(
      "identify", "The contract that a live kernel implements, beside the declared one");
  app->footer(
      "The kernel runs in a process of its own; src/gqa/kernel/abi.h says what it exports.\n"
      "Marks: ! differs from what was declared, ? could not be determined.\n"
      "Example: gqaverify identify --kernel ./libmykernel.so --type bfloat16");
  options->kernel.add_to(*app, true);
  options->type.add_to(*app, "Element type of the probes; default: every one that it takes");
  options->files.add_to(*app);
  return {app, [options](Cluster&) { return run_identify(*options); }};
}

}  // namespace gqa::program
