#include "gqa/report/audit_comparison.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "gqa/error.hpp"
#include "gqa/io/json_reader.hpp"
#include "gqa/printable.hpp"

namespace gqa {
namespace {

using nlohmann::json;

constexpr JsonReader comparison_reader{"comparison"};

struct ReportedOutput {
  std::string verdict;
  double share = -1;
};

struct ReportedCase {
  std::string path;
  std::string verdict;
  std::vector<std::pair<std::string, ReportedOutput>> outputs;
  std::vector<std::string> faults;
};

double share_of(const json& output) {
  const auto found = output.find("largest_share");
  return found != output.end() && found->is_number() ? found->get<double>() : -1;
}

std::vector<std::string> faults_of(const json& entry) {
  std::vector<std::string> faults;
  const auto diagnosis = entry.find("diagnosis");
  if (diagnosis == entry.end() || !diagnosis->is_object()) return faults;
  const auto explanations = diagnosis->find("explanations");
  if (explanations == diagnosis->end() || !explanations->is_array()) return faults;
  for (const json& one : *explanations) {
    const auto slugs = one.is_object() ? one.find("faults") : one.end();
    if (!one.is_object() || slugs == one.end() || !slugs->is_array()) continue;
    for (const json& slug : *slugs) {
      if (slug.is_string()) faults.push_back(slug.get<std::string>());
    }
  }
  return faults;
}

ReportedCase case_of(const json& entry, const std::string& where) {
  comparison_reader.object(entry, where);
  ReportedCase found;
  found.path = comparison_reader.text(comparison_reader.required(entry, "path", where),
                                      field_place(where, "path"));
  found.verdict = comparison_reader.text(comparison_reader.required(entry, "verdict", where),
                                         field_place(where, "verdict"));
  found.faults = faults_of(entry);
  const auto outputs = entry.find("outputs");
  if (outputs == entry.end()) return found;
  const std::string place = field_place(where, "outputs");
  for (const json& output : comparison_reader.list(*outputs, place)) {
    comparison_reader.object(output, place);
    found.outputs.emplace_back(
        comparison_reader.text(comparison_reader.required(output, "name", place), place),
        ReportedOutput{
            comparison_reader.text(comparison_reader.required(output, "verdict", place), place),
            share_of(output)});
  }
  return found;
}

// Up to the last slash of what all paths begin with.
std::size_t shared_folder(const std::vector<ReportedCase>& cases) {
  if (cases.empty()) return 0;
  std::string shared = cases.front().path;
  for (const ReportedCase& one : cases) {
    const auto [end, other] = std::ranges::mismatch(shared, one.path);
    shared.erase(end, shared.end());
  }
  const std::size_t slash = shared.rfind('/');
  return slash == std::string::npos ? 0 : slash + 1;
}

std::vector<ReportedCase> cases_of(const json& report, const std::string& where) {
  comparison_reader.object(report, where);
  const auto schema = report.find("schema");
  const bool is_audit = schema != report.end() && schema->is_string() &&
                        schema->get<std::string>().starts_with("gqaverify.audit/");
  if (!is_audit) {
    throw InputError("comparison.schema", where, "is no report of gqaverify audit --json");
  }
  std::vector<ReportedCase> cases;
  for (const json& entry : comparison_reader.list(
           comparison_reader.required(report, "cases", where), field_place(where, "cases"))) {
    cases.push_back(case_of(entry, fmt::format("{}: case {}", where, cases.size())));
  }
  const std::size_t folder = shared_folder(cases);
  for (ReportedCase& one : cases) one.path.erase(0, folder);
  return cases;
}

std::map<std::string, const ReportedCase*> by_path(const std::vector<ReportedCase>& cases,
                                                   const std::string& where) {
  std::map<std::string, const ReportedCase*> found;
  for (const ReportedCase& one : cases) {
    if (found.emplace(one.path, &one).second) continue;
    throw InputError("comparison.duplicate_path", where,
                     fmt::format("has two cases {}", printable_line(one.path)));
  }
  return found;
}

// From what was verified down to what was not even read.
int rank_of(const std::string& verdict) {
  if (verdict == "pass") return 0;
  if (verdict == "undecided") return 1;
  return verdict == "fail" ? 2 : 3;
}

Change change_of(const std::string& before, const std::string& after) {
  if (before == after) return Change::same;
  return rank_of(after) < rank_of(before) ? Change::better : Change::worse;
}

Change change_of(const ReportedOutput& before, const ReportedOutput& after, double share_growth) {
  const Change change = change_of(before.verdict, after.verdict);
  if (change != Change::same || before.verdict != "pass") return change;
  if (before.share < 0 || after.share < 0) return change;
  // Not "<=": a share that is no number is larger than any.
  return after.share - before.share <= share_growth ? Change::same : Change::larger;
}

void compare_outputs(const ReportedCase& before, const ReportedCase& after, double share_growth,
                     std::vector<ComparedCase>& changes) {
  const std::map<std::string, ReportedOutput> now(after.outputs.begin(), after.outputs.end());
  for (const auto& [output, old] : before.outputs) {
    const auto found = now.find(output);
    ComparedCase compared{before.path, output, Change::missing, old.verdict, "", old.share, -1, {}};
    if (found != now.end()) {
      compared.change = change_of(old, found->second, share_growth);
      compared.after = found->second.verdict;
      compared.share_after = found->second.share;
    }
    if (compared.change != Change::same) changes.push_back(std::move(compared));
  }
}

std::string percent(double share) {
  return share < 0 ? "?" : fmt::format("{:.0f} %", share * 100);
}

std::string line_of(const ComparedCase& one) {
  std::string line = fmt::format("{:<9}{}", name(one.change), printable_line(one.path));
  if (!one.output.empty()) line += fmt::format(": {}", printable_line(one.output));
  if (one.change == Change::larger) {
    line += fmt::format(": {} of what is allowed, {} before", percent(one.share_after),
                        percent(one.share_before));
  } else if (!one.before.empty() && !one.after.empty()) {
    line += fmt::format(": {} -> {}", printable_line(one.before), printable_line(one.after));
  } else if (!one.before.empty()) {
    line += fmt::format(": {} before", printable_line(one.before));
  } else {
    line += fmt::format(": {}", printable_line(one.after));
  }
  if (!one.faults.empty()) line += fmt::format(" ({})", fmt::join(one.faults, ", "));
  return line + "\n";
}

}  // namespace

std::string_view name(Change change) {
  switch (change) {
    case Change::same:
      return "same";
    case Change::better:
      return "better";
    case Change::worse:
      return "worse";
    case Change::larger:
      return "larger";
    case Change::missing:
      return "missing";
    case Change::added:
      return "added";
  }
  return "?";
}

bool is_regression(Change change) {
  return change == Change::worse || change == Change::larger || change == Change::missing;
}

bool AuditComparison::has_regression() const {
  return std::ranges::any_of(changes, [](const ComparedCase& one) {
    // What is new and does not pass would be overlooked from then on.
    return is_regression(one.change) || (one.change == Change::added && one.after != "pass");
  });
}

AuditComparison compare_audits(const json& old_report, const std::string& before,
                               const json& new_report, const std::string& after,
                               double share_growth) {
  const std::vector<ReportedCase> old_cases = cases_of(old_report, before);
  const std::vector<ReportedCase> new_cases = cases_of(new_report, after);
  const auto old_by_path = by_path(old_cases, before);
  const auto new_by_path = by_path(new_cases, after);
  AuditComparison comparison;
  for (const ReportedCase& old : old_cases) {
    ++comparison.cases;
    std::vector<ComparedCase> changes;
    const auto found = new_by_path.find(old.path);
    if (found == new_by_path.end()) {
      changes.push_back({old.path, "", Change::missing, old.verdict, "", -1, -1, {}});
    } else {
      const ReportedCase& now = *found->second;
      const Change change = change_of(old.verdict, now.verdict);
      if (change != Change::same) {
        changes.push_back({old.path, "", change, old.verdict, now.verdict, -1, -1, now.faults});
      }
      compare_outputs(old, now, share_growth, changes);
    }
    comparison.same += changes.empty() ? 1 : 0;
    std::ranges::move(changes, std::back_inserter(comparison.changes));
  }
  for (const ReportedCase& one : new_cases) {
    if (old_by_path.contains(one.path)) continue;
    comparison.changes.push_back(
        {one.path, "", Change::added, "", one.verdict, -1, -1, one.faults});
  }
  return comparison;
}

std::string comparison_text(const AuditComparison& comparison) {
  std::string text;
  for (const ComparedCase& one : comparison.changes) text += line_of(one);
  text += fmt::format("{} of {} cases as before: {}\n", comparison.same, comparison.cases,
                      comparison.has_regression() ? "REGRESSED" : "no regression");
  return text;
}

nlohmann::ordered_json comparison_json(const AuditComparison& comparison) {
  nlohmann::ordered_json document{{"schema", "gqaverify.compare/1"}};
  document["changes"] = nlohmann::ordered_json::array();
  for (const ComparedCase& one : comparison.changes) {
    nlohmann::ordered_json entry{{"path", one.path}, {"change", name(one.change)}};
    if (!one.output.empty()) entry["output"] = one.output;
    if (!one.before.empty()) entry["before"] = one.before;
    if (!one.after.empty()) entry["after"] = one.after;
    if (one.share_before >= 0) entry["largest_share_before"] = one.share_before;
    if (one.share_after >= 0) entry["largest_share_after"] = one.share_after;
    if (!one.faults.empty()) entry["faults"] = one.faults;
    document["changes"].push_back(std::move(entry));
  }
  document["summary"] = {{"cases", comparison.cases},
                         {"same", comparison.same},
                         {"regression", comparison.has_regression()}};
  return document;
}

}  // namespace gqa
