#include <fmt/format.h>

#include <algorithm>

#include "gqa/report/audit_report.hpp"
#include "gqa/report/diagnosis_report.hpp"
#include "gqa/report/html/audit_case_section.hpp"
#include "gqa/report/html/case_overview.hpp"
#include "gqa/report/html/number_text.hpp"
#include "gqa/report/html/page.hpp"
#include "gqa/report/html/pages.hpp"
#include "gqa/report/verdict_words.hpp"

namespace gqa {
namespace {

using namespace html;  // NOLINT: the vocabulary of this file

std::int64_t named_cases(const std::vector<AuditCase>& cases) {
  return std::ranges::count_if(cases, [](const AuditCase& entry) {
    return entry.diagnosis && !entry.diagnosis->explanations.empty();
  });
}

Standing standing_of(const AuditSummary& s) {
  if (s.error > 0) return Standing::broken;
  if (s.fail > 0) return Standing::bad;
  return s.undecided > 0 || s.pass == 0 ? Standing::open : Standing::good;
}

const char* word_of(const AuditSummary& s) {
  if (s.error > 0) return s.fail > 0 ? "Fail, and not all could be read" : "Not all could be read";
  if (s.fail > 0) return "Fail";
  return s.undecided > 0 || s.pass == 0 ? "Undecided" : "Pass";
}

// "these inputs cannot show head_map.tiled, ...": nobody reads a pass as more than it is.
Markup cannot_show(const AuditCase& entry) {
  if (!entry.diagnosis || entry.verdict != Verdict::pass) return {};
  Markup faults;
  for (const std::string& fault : hidden_from_people(*entry.diagnosis)) {
    faults += (faults.is_empty() ? Markup() : text(", ")) + code(fault);
  }
  if (faults.is_empty()) return {};
  return element("p", element("strong", "These inputs cannot show: ") + faults);
}

// Of many passes, how many leave something open.
std::string passes_with_gaps(const std::vector<AuditCase>& cases) {
  const std::int64_t count = std::ranges::count_if(cases, [](const AuditCase& entry) {
    return entry.verdict == Verdict::pass && entry.diagnosis &&
           !hidden_from_people(*entry.diagnosis).empty();
  });
  if (count == 0) return "";
  return fmt::format(" The inputs of {} pass{} cannot show every fault: each says which.",
                     grouped(count), count == 1 ? "" : "es");
}

Markup summary_of(const std::vector<AuditCase>& cases) {
  const AuditSummary s = summarise(cases);
  const bool sampled =
      std::ranges::any_of(cases, [](const AuditCase& entry) { return entry.sample.has_value(); });
  std::string words = fmt::format("{} of {} passed{}", s.pass,
                                  counted(static_cast<std::int64_t>(cases.size()), "case"),
                                  sampled ? " on samples of their rows" : "");
  if (s.fail > 0) words += fmt::format(", {} failed", s.fail);
  if (s.undecided > 0) words += fmt::format(", {} undecided", s.undecided);
  if (s.error > 0) words += fmt::format(", {} could not be read", s.error);
  words += ".";
  if (s.fail > 0) {
    const std::int64_t named = named_cases(cases);
    words += named == s.fail ? std::string(" Every failure is explained by named faults.")
                             : fmt::format(" {} of the failures {} explained by named faults.",
                                           named, named == 1 ? "is" : "are");
  }
  return paragraph(words + passes_with_gaps(cases));
}

Markup single_summary(const AuditCase& entry) {
  if (!entry.result) return paragraph(entry.error);
  const AuditTally& tally = entry.result->tally;
  std::string words =
      tally.violations > 0
          ? fmt::format("{} of {} violate the tolerance.", grouped(tally.violations),
                        counted(tally.elements, "element"))
          : fmt::format("{}, largest certified error {} ulp{}{}.",
                        counted(tally.elements, "element"), figure(tally.max_ulp_error.upper),
                        share_text(tally).empty() ? "" : ", ", share_text(tally));
  const OutputAudit shown = first_output(entry);
  for (const std::string& more :
       {open_text(entry, shown), nothing_shown_text(shown), undeclared_text(shown)}) {
    if (words.find(more) != words.npos) continue;
    if (!more.empty()) words += fmt::format(" {}.", more);
  }
  if (entry.sample) words += fmt::format(" Audited: {}.", describe(*entry.sample));
  Markup content = paragraph(words);
  if (!entry.result->where.empty()) content += paragraph("Where: " + entry.result->where + ".");
  if (!entry.diagnosis || entry.diagnosis->explanations.empty()) {
    return content + cannot_show(entry);
  }
  const Explanation& first = entry.diagnosis->explanations.front();
  if (first.faults.empty()) return content + paragraph(sentence(first.sentence()));
  Markup named = element("strong", code(first.describe()));
  for (const Fault& fault : first.faults) {
    const bool is_everywhere = first.region.is_everywhere();
    named += text((&fault == &first.faults.front() ? ": " : "; ") +
                  (is_everywhere ? std::string(fault.kind->sentence) : fault.sentence));
  }
  return content + element("p", named + text("."));
}

}  // namespace

std::string audit_html(const std::vector<AuditCase>& cases, const PageOrigin& origin) {
  Page page;
  page.origin = origin;
  page.kind = "audit";
  const AuditSummary summary = summarise(cases);
  page.standing = standing_of(summary);
  page.verdict = word_of(summary);
  if (cases.size() == 1) {
    const std::string& path = cases.front().path;
    page.title = "Audit of " + path.substr(path.rfind('/') + 1);
    page.summary = single_summary(cases.front());
    page.sections.push_back(
        {std::string("case-1"), "The audit",
         element("p", "quiet", foreign(path)) +
             audit_case_section(std::string("case-1") + "-part", cases.front())});
    return page_text(page);
  }
  page.title = fmt::format("Audit of {}", counted(static_cast<std::int64_t>(cases.size()), "case"));
  page.summary = summary_of(cases);
  if (!cases.empty()) {
    const CaseOverview overview(cases);
    page.title += overview.folder();
    const Markup faults = overview.faults();
    if (!faults.is_empty()) page.sections.push_back({"faults", "What is wrong", faults});
    page.sections.push_back({"cases", "All cases", overview.table()});
    page.sections.push_back({"details", "Case by case", overview.details()});
  }
  return page_text(page);
}

}  // namespace gqa
