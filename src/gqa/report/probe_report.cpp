#include "gqa/report/probe_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gqa/report/diagnosis_report.hpp"
#include "gqa/report/verdict_words.hpp"
#include "gqa/version.hpp"

namespace gqa {
namespace {

std::string finding_lines(const ProbeReport& report) {
  std::string text;
  for (const ProbeResult& result : report.results) {
    if (!result.answer.finding.empty()) {
      text += fmt::format("finding   {}: {}\n", result.probe.name, result.answer.finding);
    }
  }
  return text;
}

std::string failure_lines(const ProbeReport& report) {
  std::string text;
  for (const ProbeResult& result : report.results) {
    if (!result.answer.supported || result.verdict == Verdict::pass) continue;
    text +=
        fmt::format("{:<10}{}: {}\n", name(result.verdict), result.probe.name, result.probe.reads);
    if (!result.error.empty()) text += fmt::format("    {}\n", result.error);
    if (result.violations > 0) {
      text +=
          fmt::format("    {}: {}\n", counted_words(result.violations, "violation"), result.where);
    }
  }
  return text;
}

std::string counts_line(const ProbeReport& report) {
  const auto asked = static_cast<std::int64_t>(report.results.size()) - report.unsupported();
  std::string text =
      fmt::format("{} of {} probes in {} passed against {}", report.count(Verdict::pass), asked,
                  name(report.type), describe(report.tolerance));
  const auto adapted = std::ranges::count_if(
      report.results, [](const ProbeResult& result) { return !result.probe.habit.empty(); });
  if (adapted > 0) text += fmt::format("; {} asked as the kernel takes them", adapted);
  if (report.unsupported() > 0) {
    text += fmt::format("; {} not supported: not verified", report.unsupported());
  }
  if (report.count(Verdict::fail) == 0 && report.diagnosis.status == DiagnosisStatus::named) {
    text += fmt::format(
        "\nfinding: within the rounding of that model, and what {} is\n"
        "    this does not fail: a kernel that computes in that model is right",
        report.diagnosis.explanations.front().describe());
  }
  return text + "\n";
}

nlohmann::ordered_json results_json(const ProbeReport& report) {
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  for (const ProbeResult& result : report.results) {
    nlohmann::ordered_json entry;
    entry["name"] = result.probe.name;
    entry["reads"] = result.probe.reads;
    if (!result.probe.habit.empty()) entry["asked_as"] = result.probe.habit;
    entry["supported"] = result.answer.supported;
    entry["verdict"] = result.answer.supported ? name(result.verdict) : "unsupported";
    entry["violations"] = result.violations;
    entry["where"] = result.where;
    entry["finding"] = result.answer.finding;
    if (!result.error.empty()) entry["error"] = result.error;
    results.push_back(std::move(entry));
  }
  return results;
}

nlohmann::ordered_json header_json(const ProbeReport& report, const char* schema) {
  nlohmann::ordered_json json;
  json["schema"] = schema;
  json["version"] = version;
  json["element_type"] = name(report.type);
  json["tolerance"] = describe(report.tolerance);
  json["summary"] = {{"pass", report.count(Verdict::pass)},
                     {"fail", report.count(Verdict::fail)},
                     {"undecided", report.count(Verdict::undecided)},
                     {"error", report.count(Verdict::error)},
                     {"unsupported", report.unsupported()}};
  return json;
}

}  // namespace

std::string probe_text(const ProbeReport& report) {
  return finding_lines(report) + failure_lines(report) + diagnosis_text(report.diagnosis, "") +
         counts_line(report);
}

nlohmann::ordered_json probe_json(const ProbeReport& report) {
  nlohmann::ordered_json json = header_json(report, "gqaverify.probe/1");
  json["probes"] = results_json(report);
  json["diagnosis"] = diagnosis_json(report.diagnosis);
  return json;
}

std::string identify_text(const ProbeReport& report, const std::vector<IdentifiedRule>& rules) {
  std::size_t width = 0;
  std::size_t declared_width = 0;
  for (const IdentifiedRule& rule : rules) {
    width = std::max(width, rule.rule.size());
    declared_width = std::max(declared_width, rule.declared.size());
  }
  std::string text = finding_lines(report);
  text += fmt::format("  {:<{}}  {:<{}}  {}\n", "rule", width, "declared", declared_width, "found");
  for (const IdentifiedRule& rule : rules) {
    const char* mark = rule.agreement == Agreement::agrees    ? " "
                       : rule.agreement == Agreement::differs ? "!"
                                                              : "?";
    text +=
        fmt::format("{} {:<{}}  {:<{}}  {}\n", mark, rule.rule, width, rule.declared,
                    declared_width, rule.agreement == Agreement::agrees ? "the same" : rule.found);
  }
  return text + diagnosis_text(report.diagnosis, "") + counts_line(report);
}

nlohmann::ordered_json identify_json(const ProbeReport& report,
                                     const std::vector<IdentifiedRule>& rules) {
  nlohmann::ordered_json json = header_json(report, "gqaverify.identify/1");
  json["rules"] = nlohmann::ordered_json::array();
  for (const IdentifiedRule& rule : rules) {
    json["rules"].push_back({{"rule", rule.rule},
                             {"declared", rule.declared},
                             {"found", rule.found},
                             {"agreement", name(rule.agreement)}});
  }
  json["probes"] = results_json(report);
  json["diagnosis"] = diagnosis_json(report.diagnosis);
  return json;
}

}  // namespace gqa
