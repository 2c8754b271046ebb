// gqaverify faults: the names that a report can print.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string_view>

#include "command.hpp"
#include "gqa/error.hpp"
#include "gqa/io/file.hpp"
#include "gqa/near_words.hpp"
#include "gqa/report/fault_report.hpp"
#include "output.hpp"
#include "taken_words.hpp"

namespace gqa::program {
namespace {

using Kinds = std::vector<const FaultKind*>;

struct FaultsOptions {
  std::vector<std::string> names;
  std::string markdown;
  std::string json;
};

Kinds kinds_where(const auto& holds) {
  Kinds kinds;
  std::ranges::copy_if(named_kinds(), std::back_inserter(kinds), holds);
  return kinds;
}

// A name is a slug, a family, or else a part of slugs ("tiled").
Kinds meant_by(const std::string& name) {
  Kinds kinds = kinds_where(
      [&](const FaultKind* kind) { return name == kind->slug || name == family(*kind); });
  if (!kinds.empty() || name.empty()) return kinds;
  return kinds_where(
      [&](const FaultKind* kind) { return kind->slug.find(name) != std::string_view::npos; });
}

// Slugs, families and what stands behind their dot: whatever a name may have meant.
std::vector<std::string> fault_names() {
  std::vector<std::string> names;
  for (const FaultKind* kind : named_kinds()) {
    if (std::ranges::count(names, std::string(family(*kind))) == 0) {
      names.emplace_back(family(*kind));
    }
    names.emplace_back(kind->slug);
  }
  return names;
}

std::string suggestion(const std::string& name) {
  std::vector<std::string_view> known;
  std::vector<std::string_view> behind_dot;
  const std::vector<std::string> names = fault_names();
  for (const std::string& word : names) {
    known.push_back(word);
    const std::size_t dot = word.find('.');
    if (dot != word.npos) behind_dot.push_back(std::string_view(word).substr(dot + 1));
  }
  std::vector<std::string> near = near_words(name, known);
  if (near.empty()) {
    for (const std::string& part : near_words(name, behind_dot)) {
      const auto whole = std::ranges::find_if(
          names, [&part](const std::string& word) { return word.ends_with("." + part); });
      near.push_back(*whole);
    }
  }
  return near.empty() ? "; \"gqaverify faults\" lists all" : "; " + did_you_mean(near);
}

Kinds chosen(const std::vector<std::string>& names) {
  if (names.empty()) return kinds_where([](const FaultKind*) { return true; });
  Kinds wanted;
  for (const std::string& name : names) {
    const Kinds meant = meant_by(name);
    if (meant.empty()) {
      throw InputError("faults.unknown", name,
                       "no fault and no family has that name" + suggestion(name));
    }
    wanted.insert(wanted.end(), meant.begin(), meant.end());
  }
  return kinds_where([&](const FaultKind* kind) { return std::ranges::count(wanted, kind) > 0; });
}

ExitStatus run_faults(const FaultsOptions& options) {
  const Kinds kinds = chosen(options.names);
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
      "faults", "The names that a report can print: wrong formulas, smallest examples");
  app->footer("Example: gqaverify faults head_map softcap.after_mask tiled");
  app->add_option("NAME", options->names,
                  "Names, families, or parts of names; default: a list of all")
      ->type_name("NAME")
      ->check(offers(fault_names()));
  app->add_option("--markdown", options->markdown, "Write a page in Markdown to FILE")
      ->type_name("FILE");
  app->add_option("--json", options->json, "Write JSON to FILE, - for standard output")
      ->type_name("FILE");
  return {app, [options](Cluster&) { return run_faults(*options); }};
}

}  // namespace gqa::program
