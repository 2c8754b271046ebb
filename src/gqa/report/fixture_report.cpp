#include "gqa/report/fixture_report.hpp"

#include <fmt/format.h>

#include "gqa/printable.hpp"
#include "gqa/report/number_json.hpp"

namespace gqa {
namespace {

// The exact output of one query row: "(3,2)".
std::string row_text(const FixtureReport& report, std::size_t row) {
  const auto width = static_cast<std::size_t>(report.exact->extent(3));
  std::string text = "(";
  for (std::size_t c = 0; c < width; ++c) {
    const std::size_t i = row * width + c;
    if (c > 0) text += ",";
    text += report.is_nan[i] != 0 ? "nan" : to_text(report.exact->data()[i]);
  }
  return text + ")";
}

std::size_t row_count(const FixtureReport& report) {
  if (!report.exact || report.exact->extent(3) == 0) return 0;
  return report.exact->size() / static_cast<std::size_t>(report.exact->extent(3));
}

std::string outputs_text(const FixtureReport& report) {
  if (report.negative) return "refused: " + report.observed_error;
  std::string text;
  constexpr std::size_t most = 12;
  const std::size_t rows = row_count(report);
  for (std::size_t row = 0; row < std::min(rows, most); ++row) {
    text += (row > 0 ? " " : "") + row_text(report, row);
  }
  if (rows > most) text += fmt::format(" ... ({} rows)", rows);
  return text;
}

// All fixtures' checks joined, per format.
std::vector<CrossCheck> joined_checks(const std::vector<FixtureReport>& reports) {
  std::vector<CrossCheck> joined;
  for (const FixtureReport& report : reports) {
    for (std::size_t f = 0; f < report.floats.size(); ++f) {
      if (joined.size() <= f) joined.push_back(CrossCheck{report.floats[f].format});
      joined[f].merge(report.floats[f]);
    }
  }
  return joined;
}

std::string check_text(const CrossCheck& check) {
  return fmt::format(
      "  {:<12} largest error {:.2e}, its derived tolerance {:.2e}; at most {:.2f} of it",
      name(check.format), check.max_error, check.tolerance, check.max_ratio);
}

std::string fixture_line(const FixtureReport& report) {
  const char* word = report.passed ? "ok  " : report.malformed ? "error" : "FAIL";
  std::string text = fmt::format("{} {}: {}\n", word, printable_line(report.name),
                                 printable_line(report.statement));
  const std::string outputs = outputs_text(report);
  if (!outputs.empty()) text += fmt::format("     {}\n", outputs);
  for (const std::string& also : report.also_checked) text += "     also: " + also + "\n";
  return text;
}

nlohmann::ordered_json check_json(const CrossCheck& check) {
  if (check.beyond_range) return {{"format", name(check.format)}, {"beyond_range", true}};
  return {{"format", name(check.format)},
          {"elements", check.elements},
          {"max_error", number_json(check.max_error)},
          {"tolerance", number_json(check.tolerance)},
          {"max_ratio", number_json(check.max_ratio)},
          {"within", check.within}};
}

}  // namespace

FixtureSummary summarise(const std::vector<FixtureReport>& reports,
                         const std::optional<EnumerationCrossCheck>& cases) {
  FixtureSummary summary;
  for (const FixtureReport& report : reports) {
    ++(report.passed ? summary.passed : summary.failed);
    summary.malformed += report.malformed ? 1 : 0;
  }
  summary.floats_hold = !cases || cases->holds();
  return summary;
}

std::string fixture_text(const std::vector<FixtureReport>& reports,
                         const std::optional<EnumerationCrossCheck>& cases, bool verbose) {
  std::string text;
  for (const FixtureReport& report : reports) {
    if (verbose || !report.passed) text += fixture_line(report);
    for (const std::string& failure : report.failures)
      text += "       " + printable_line(failure) + "\n";
  }
  const std::vector<CrossCheck> joined = joined_checks(reports);
  if (!joined.empty()) text += "fixtures through the real path, in floats:\n";
  for (const CrossCheck& check : joined) {
    if (check.elements > 0) text += check_text(check) + "\n";
  }
  if (cases) {
    text +=
        fmt::format("the {} enumeration cases through the real path, in floats:\n", cases->cases);
    for (std::size_t f = 0; f < cases->worst.size(); ++f) {
      text += fmt::format("{}: {} of {} within\n", check_text(cases->worst[f]), cases->within[f],
                          cases->cases);
    }
  }
  const FixtureSummary summary = summarise(reports, cases);
  text += fmt::format("{} of {} fixtures right: {}\n", summary.passed, reports.size(),
                      summary.holds() ? "verified" : "NOT VERIFIED");
  return text;
}

nlohmann::ordered_json fixture_json(const std::vector<FixtureReport>& reports,
                                    const std::optional<EnumerationCrossCheck>& cases) {
  nlohmann::ordered_json json;
  json["schema"] = "gqaverify.verify/1";
  json["fixtures"] = nlohmann::ordered_json::array();
  for (const FixtureReport& report : reports) {
    nlohmann::ordered_json entry;
    entry["name"] = report.name;
    entry["path"] = report.path;
    entry["statement"] = report.statement;
    entry["verdict"] = report.passed ? "pass" : report.malformed ? "error" : "fail";
    if (report.negative) entry["error"] = report.observed_error;
    if (report.exact) {
      entry["shape"] = report.exact->shape();
      entry["exact"] = nlohmann::ordered_json::array();
      const auto width = static_cast<std::size_t>(report.exact->extent(3));
      for (std::size_t row = 0; row < row_count(report); ++row) {
        nlohmann::ordered_json values = nlohmann::ordered_json::array();
        for (std::size_t c = 0; c < width; ++c) {
          const std::size_t i = row * width + c;
          values.push_back(report.is_nan[i] != 0 ? "nan" : to_text(report.exact->data()[i]));
        }
        entry["exact"].push_back(std::move(values));
      }
    }
    if (!report.also_checked.empty()) entry["also_checked"] = report.also_checked;
    entry["float"] = nlohmann::ordered_json::array();
    for (const CrossCheck& check : report.floats) entry["float"].push_back(check_json(check));
    entry["failures"] = report.failures;
    json["fixtures"].push_back(std::move(entry));
  }
  if (cases) {
    json["enumeration"]["cases"] = cases->cases;
    json["enumeration"]["float"] = nlohmann::ordered_json::array();
    for (std::size_t f = 0; f < cases->worst.size(); ++f) {
      auto entry = check_json(cases->worst[f]);
      entry["cases_within"] = cases->within[f];
      json["enumeration"]["float"].push_back(std::move(entry));
    }
  }
  const FixtureSummary summary = summarise(reports, cases);
  json["summary"] = {
      {"pass", summary.passed}, {"fail", summary.failed}, {"verified", summary.holds()}};
  return json;
}

}  // namespace gqa
