#include <fmt/format.h>

#include <algorithm>

#include "gqa/report/claim_report.hpp"
#include "gqa/report/html/number_text.hpp"
#include "gqa/report/html/page.hpp"
#include "gqa/report/html/pages.hpp"
#include "gqa/report/html/table.hpp"

namespace gqa {
namespace {

using namespace html;  // NOLINT: the vocabulary of this file

// A refuted claim is settled: it is the claim that is bad, not the report.
Markup verdict_badge(ClaimVerdict verdict) {
  switch (verdict) {
    case ClaimVerdict::proved:
    case ClaimVerdict::checked:
      return badge(Standing::good, name(verdict));
    case ClaimVerdict::refuted:
      return badge(Standing::bad, name(verdict));
    case ClaimVerdict::open:
      return badge(Standing::open, name(verdict));
  }
  return {};
}

std::string id_of(const ClaimReport& report) {
  return std::string("claim-") + report.claim->id;
}

Markup ledger(const std::vector<ClaimReport>& reports) {
  Table table("Every claim with its verdict",
              {{"Claim"}, {"Verdict"}, {"Statement", ColumnKind::prose}});
  for (const ClaimReport& report : reports) {
    table.add_row({element("a", Attributes{{"href", "#" + id_of(report)}},
                           text(fmt::format("({})", report.claim->id))),
                   verdict_badge(report.verdict), text(report.claim->statement)});
  }
  return table.markup();
}

Markup certificates(const ClaimReport& report) {
  std::vector<Markup> kinds;
  for (const auto& certificate : report.argument.certificates()) {
    kinds.push_back(code(certificate.value("kind", "certificate")));
  }
  if (kinds.empty()) return {};
  return paragraph("Certificates, written by --certificates and re-verified by gqaverify check:") +
         bullets(kinds);
}

Markup argument(const ClaimReport& report) {
  const Claim& claim = *report.claim;
  Markup content = definitions({{"Statement", text(claim.statement)},
                                {"Scope", text(claim.scope)},
                                {"Settled by", text(claim.certificate)}});
  std::vector<Markup> lines;
  for (const std::string& line : report.argument.lines()) lines.push_back(text(line));
  if (!lines.empty()) content += heading(3, "The argument") + bullets(lines);
  std::vector<Markup> failures;
  for (const std::string& failure : report.argument.failures()) failures.push_back(text(failure));
  if (!failures.empty()) content += heading(3, "Does not hold") + bullets(failures);
  return content + certificates(report);
}

Markup arguments(const std::vector<ClaimReport>& reports) {
  Markup content;
  for (const ClaimReport& report : reports) {
    const Markup summary = verdict_badge(report.verdict) +
                           text(fmt::format(" ({}) {}", report.claim->id, report.claim->title));
    content += element("div", "case",
                       foldable(id_of(report), summary, argument(report), reports.size() == 1));
  }
  return content;
}

}  // namespace

std::string claims_html(const std::vector<ClaimReport>& reports, const PageOrigin& origin) {
  Page page;
  page.origin = origin;
  page.kind = "claims";
  page.title = "What is said about grouped-query attention";
  const bool settled = all_settled(reports);
  page.standing = settled ? Standing::good : Standing::open;
  page.verdict = settled ? "All settled" : "Not all settled";
  std::string words = counted(static_cast<std::int64_t>(reports.size()), "claim") + ":";
  for (const ClaimVerdict verdict :
       {ClaimVerdict::proved, ClaimVerdict::checked, ClaimVerdict::refuted, ClaimVerdict::open}) {
    const auto count = std::ranges::count(reports, verdict, &ClaimReport::verdict);
    if (count > 0) {
      words += fmt::format("{} {} {}", words.back() == ':' ? "" : ",", count, name(verdict));
    }
  }
  // Of the words that are used.
  const bool any_checked = std::ranges::any_of(
      reports, [](const ClaimReport& report) { return report.verdict == ClaimVerdict::checked; });
  page.summary = paragraph(words + ".") +
                 paragraph(fmt::format(
                     "Proved: a universal statement with a certificate. {}Refuted: an exact "
                     "counterexample was found.",
                     any_checked ? "Checked: it holds on every instance of its scope. " : ""));
  page.sections.push_back({"ledger", "The claims", ledger(reports)});
  page.sections.push_back({"arguments", "Claim by claim", arguments(reports)});
  return page_text(page);
}

}  // namespace gqa
