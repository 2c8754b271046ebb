// gqaverify faults: the catalogue of faults that a diagnosis can name.
#include <algorithm>
#include <memory>

#include "command.hpp"
#include "gqa/error.hpp"
#include "gqa/io/file.hpp"
#include "gqa/report/fault_report.hpp"
#include "output.hpp"

namespace gqa::program {
namespace {

struct Options {
  std::vector<std::string> names;
  std::string markdown;
  std::string json;
};

// A name is a slug or a family.
std::vector<const FaultKind*> chosen(const std::vector<std::string>& names) {
  std::vector<const FaultKind*> kinds;
  for (const FaultKind* kind : fault_kinds()) {
    const auto means = [kind](const std::string& name) {
      return name == kind->slug || name == family(*kind);
    };
    if (names.empty() || std::ranges::any_of(names, means)) kinds.push_back(kind);
  }
  for (const std::string& name : names) {
    const auto is_meant = [&name](const FaultKind* kind) {
      return name == kind->slug || name == family(*kind);
    };
    if (!std::ranges::any_of(kinds, is_meant)) {
      throw InputError("faults.unknown", name, "no fault and no family has that name");
    }
  }
  return kinds;
}

ExitStatus run(const Options& options) {
  const std::vector<const FaultKind*> kinds = chosen(options.names);
  if (!options.markdown.empty()) write_file_atomically(options.markdown, fault_markdown(kinds));
  const std::string text = options.names.empty() ? fault_list(kinds) : fault_text(kinds);
  const bool wants_json = !options.json.empty();
  write_results(text, wants_json ? faults_json(kinds) : nlohmann::ordered_json(), options.json);
  return all_holds;
}

}  // namespace

Command add_faults(CLI::App& program) {
  auto options = std::make_shared<Options>();
  CLI::App* app = program.add_subcommand(
      "faults", "The faults that a diagnosis can name: wrong formulas, smallest examples");
  app->footer("Example: gqaverify faults head_map softcap.after_mask");
  app->add_option("names", options->names, "Faults or families; default: a list of all")
      ->type_name("NAME");
  app->add_option("--markdown", options->markdown, "Write a page in Markdown to FILE")
      ->type_name("FILE");
  app->add_option("--json", options->json, "Write JSON to FILE, - for standard output")
      ->type_name("FILE");
  return {app, [options](Cluster&) { return run(*options); }};
}

}  // namespace gqa::program
