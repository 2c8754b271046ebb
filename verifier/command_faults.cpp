// gqaverify faults: the catalogue of faults that a diagnosis can name.
#include <algorithm>
#include <iterator>
#include <memory>

#include "command.hpp"
#include "gqa/error.hpp"
#include "gqa/io/file.hpp"
#include "gqa/report/fault_report.hpp"
#include "output.hpp"

namespace gqa::program {
namespace {

struct FaultsOptions {
  std::vector<std::string> names;
  std::string markdown;
  std::string json;
};

// A name is a slug or a family.
bool means(const std::string& name, const FaultKind* kind) {
  return name == kind->slug || name == family(*kind);
}

std::vector<const FaultKind*> chosen(const std::vector<std::string>& names) {
  const auto all = fault_kinds();
  for (const std::string& name : names) {
    if (std::ranges::any_of(all, [&](const FaultKind* kind) { return means(name, kind); }))
      continue;
    throw InputError("faults.unknown", name, "no fault and no family has that name");
  }
  std::vector<const FaultKind*> kinds;
  std::ranges::copy_if(all, std::back_inserter(kinds), [&](const FaultKind* kind) {
    return names.empty() ||
           std::ranges::any_of(names, [&](const std::string& name) { return means(name, kind); });
  });
  return kinds;
}

ExitStatus run_faults(const FaultsOptions& options) {
  const std::vector<const FaultKind*> kinds = chosen(options.names);
  if (!options.markdown.empty()) write_file_atomically(options.markdown, fault_markdown(kinds));
  const std::string text = options.names.empty() ? fault_list(kinds) : fault_text(kinds);
  const bool wants_json = !options.json.empty();
  write_results(text, wants_json ? faults_json(kinds) : nlohmann::ordered_json(), options.json);
  return all_holds;
}

}  // namespace

Command add_faults(CLI::App& program) {
  auto options = std::make_shared<FaultsOptions>();
  CLI::App* app = program.add_subcommand(
      "faults", "The faults that a diagnosis can name: wrong formulas, smallest examples");
  app->footer("Example: gqaverify faults head_map softcap.after_mask");
  app->add_option("names", options->names, "Faults or families; default: a list of all")
      ->type_name("NAME");
  app->add_option("--markdown", options->markdown, "Write a page in Markdown to FILE")
      ->type_name("FILE");
  app->add_option("--json", options->json, "Write JSON to FILE, - for standard output")
      ->type_name("FILE");
  return {app, [options](Cluster&) { return run_faults(*options); }};
}

}  // namespace gqa::program
