// gqaverify probe: probes as files, for implementations that cannot be loaded.
#include <fmt/format.h>

#include <memory>

#include "cluster.hpp"
#include "command.hpp"
#include "gqa/diagnose/probes/identify.hpp"
#include "gqa/printable.hpp"
#include "gqa/report/html/pages.hpp"
#include "gqa/report/probe_report.hpp"
#include "kernel_flags.hpp"
#include "output.hpp"
#include "page_origin_of.hpp"
#include "probe_files.hpp"

namespace gqa::program {
namespace {

struct ProbeOptions {
  std::string directory;
  TypeFlag type;
  OutputFiles files;
  bool identify = false;
};

ExitStatus write(const ProbeOptions& options) {
  const ElementType type = options.type.type().value_or(ElementType::binary32);
  const std::size_t written = write_probes(options.directory, type);
  print_text(fmt::format("{} in {} written to {}\n",
                         counted(static_cast<std::int64_t>(written), "probe"), name(type),
                         printable_line(options.directory)));
  return all_holds;
}

// A file that could not be read, or holds another probe, was not verified; nor was an absent
// output: only a full set of right answers holds.
ExitStatus status_of(const ProbeReport& report) {
  if (report.count(Verdict::error) > 0) return bad_input;
  if (report.count(Verdict::fail) > 0) return decided_wrong;
  const auto all = static_cast<std::int64_t>(report.results.size());
  return report.count(Verdict::pass) == all && all > 0 ? all_holds : undecided;
}

ExitStatus check(const ProbeOptions& options) {
  ElementType type = ElementType::binary32;
  std::vector<ProbeResult> answers = read_answers(options.directory, type);
  const ProbeReport report = judge_probes(std::move(answers), type);
  const std::vector<IdentifiedRule> rules = identify(report);
  const auto page = [&] {
    return probe_html(options.directory, {{report, rules}}, page_origin({options.directory}));
  };
  if (options.identify) {
    write_results(identify_text(report, rules), identify_json(report, rules), options.files, page);
  } else {
    write_results(probe_text(report), probe_json(report), options.files, page);
  }
  return status_of(report);
}

}  // namespace

Command add_probe(CLI::App& program) {
  auto options = std::make_shared<ProbeOptions>();
  CLI::App* app =
      program.add_subcommand("probe", "Probes as files, for kernels that cannot be loaded");
  app->require_subcommand(1);
  app->footer(
      "Run every DIR/NAME.safetensors on the implementation under its metadata \"attention\",\n"
      "store the result as tensor \"output\" of the same file or as DIR/NAME.output.npy, and\n"
      "check. The probe of strided rows, which no file holds, is for identify --kernel alone.\n"
      "Example: gqaverify probe write probes --type binary16; ...; gqaverify probe check probes");
  CLI::App* writing = app->add_subcommand("write", "Write the probes to a directory");
  writing->add_option("DIR", options->directory, "Directory, made if absent")->required();
  options->type.add_to(*writing, "Element type of the probes; default: binary32");
  CLI::App* checking = app->add_subcommand("check", "Judge the outputs and name the fault");
  checking->add_option("DIR", options->directory, "Directory with probes and outputs")->required();
  checking->add_flag("--identify", options->identify,
                     "Print the contract that the outputs show, rule by rule");
  options->files.add_to(*checking);
  return {app, [options, writing](Cluster&) {
            return writing->parsed() ? write(*options) : check(*options);
          }};
}

}  // namespace gqa::program
