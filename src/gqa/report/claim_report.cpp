#include "gqa/report/claim_report.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace gqa {
namespace {

std::string counts(const std::vector<ClaimReport>& reports) {
  std::string text;
  for (const ClaimVerdict verdict :
       {ClaimVerdict::proved, ClaimVerdict::checked, ClaimVerdict::refuted, ClaimVerdict::open}) {
    const auto count = std::ranges::count(reports, verdict, &ClaimReport::verdict);
    if (count == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name(verdict));
  }
  return text;
}

}  // namespace

bool all_settled(const std::vector<ClaimReport>& reports) {
  return !reports.empty() && std::ranges::none_of(reports, [](const ClaimReport& report) {
    return report.verdict == ClaimVerdict::open;
  });
}

std::string claim_table(const std::vector<ClaimReport>& reports) {
  std::string text;
  for (const ClaimReport& report : reports) {
    text += fmt::format("{:<5} {:<8} {}\n", fmt::format("({})", report.claim->id),
                        name(report.verdict), report.claim->statement);
    for (const std::string& failure : report.argument.failures()) {
      text += fmt::format("               does not hold: {}\n", failure);
    }
  }
  text += fmt::format("{} claim{}: {}\n", reports.size(), reports.size() == 1 ? "" : "s",
                      counts(reports));
  return text;
}

std::string claim_arguments(const std::vector<ClaimReport>& reports) {
  std::string text;
  for (const ClaimReport& report : reports) {
    const Claim& claim = *report.claim;
    text += fmt::format("({}) {}: {}\n  {}\n  scope: {}\n", claim.id, claim.title,
                        name(report.verdict), claim.statement, claim.scope);
    for (const std::string& line : report.argument.lines()) text += fmt::format("    {}\n", line);
    text += fmt::format("  settled by: {}\n", claim.certificate);
    for (const auto& certificate : report.argument.certificates()) {
      text += fmt::format("  certificate: {}\n", certificate.at("kind").get<std::string>());
    }
  }
  return text;
}

nlohmann::ordered_json claim_json(const std::vector<ClaimReport>& reports) {
  nlohmann::ordered_json json;
  json["schema"] = "gqaverify.claims/1";
  json["claims"] = nlohmann::ordered_json::array();
  for (const ClaimReport& report : reports) {
    json["claims"].push_back({{"id", report.claim->id},
                              {"title", report.claim->title},
                              {"statement", report.claim->statement},
                              {"verdict", name(report.verdict)},
                              {"scope", report.claim->scope},
                              {"certificate", report.claim->certificate},
                              {"argument", report.argument.lines()},
                              {"failures", report.argument.failures()},
                              {"certificates", report.argument.certificates()}});
  }
  return json;
}

}  // namespace gqa
