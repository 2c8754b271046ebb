// gqaverify faults: the names that a report can print.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <numeric>

#include "command.hpp"
#include "gqa/error.hpp"
#include "gqa/io/file.hpp"
#include "gqa/report/fault_report.hpp"
#include "output.hpp"

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

// Insertions, deletions and replacements that make one text of the other (Levenshtein).
std::size_t distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t replaced = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

// How far a name is from a slug, its family or what follows its dot.
std::size_t distance_to(const std::string& name, const FaultKind& kind) {
  const std::string_view word = kind.slug.substr(family(kind).size() + 1);
  return std::min({distance(name, kind.slug), distance(name, family(kind)), distance(name, word)});
}

std::string suggestion(const std::string& name) {
  constexpr std::size_t shown = 4;
  const std::size_t near = 1 + name.size() / 5;  // slips of the keyboard
  Kinds kinds =
      kinds_where([&](const FaultKind* kind) { return distance_to(name, *kind) <= near; });
  if (kinds.empty()) return "; \"gqaverify faults\" lists all";
  std::ranges::stable_sort(kinds, {},
                           [&](const FaultKind* kind) { return distance_to(name, *kind); });
  std::vector<std::string_view> slugs;
  for (const FaultKind* kind : kinds) slugs.push_back(kind->slug);
  slugs.resize(std::min(slugs.size(), shown));
  return fmt::format("; did you mean {}?", fmt::join(slugs, ", "));
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
  app->add_option("names", options->names,
                  "Names, families, or parts of names; default: a list of all")
      ->type_name("NAME");
  app->add_option("--markdown", options->markdown, "Write a page in Markdown to FILE")
      ->type_name("FILE");
  app->add_option("--json", options->json, "Write JSON to FILE, - for standard output")
      ->type_name("FILE");
  return {app, [options](Cluster&) { return run_faults(*options); }};
}

}  // namespace gqa::program
