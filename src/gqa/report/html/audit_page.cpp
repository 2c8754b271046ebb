#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "gqa/report/audit_report.hpp"
#include "gqa/report/diagnosis_report.hpp"
#include "gqa/report/html/audit_case_section.hpp"
#include "gqa/report/html/case_overview.hpp"
#include "gqa/report/html/number_text.hpp"
#include "gqa/report/html/page.hpp"
#include "gqa/report/html/pages.hpp"
#include "gqa/report/html/sections.hpp"
#include "gqa/report/verdict_words.hpp"

namespace gqa {
namespace {

using namespace html;  // NOLINT: the vocabulary of this file

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

// How far the failures are explained: none is told to be named that is not.
std::string explained(const std::vector<AuditCase>& cases, std::int64_t failures) {
  std::map<DiagnosisStatus, std::int64_t> counts;
  for (const AuditCase& entry : cases) {
    if (entry.verdict == Verdict::fail && entry.diagnosis) ++counts[entry.diagnosis->status];
  }
  const std::int64_t named = counts[DiagnosisStatus::named];
  if (failures > 0 && named == failures) return " Every failure is explained by named faults.";
  std::string words;
  if (named > 0) {
    words = fmt::format(" {} of the failures {} explained by named faults.", grouped(named),
                        named == 1 ? "is" : "are");
  }
  for (const auto& [status, count] : counts) {
    if (status == DiagnosisStatus::named || count == 0) continue;
    words += fmt::format(" Of {}: {}.", counted(count, "failure"), meaning_of(status));
  }
  return words;
}

Markup summary_of(const std::vector<AuditCase>& cases) {
  const AuditSummary s = summarise(cases);
  const bool sampled =
      std::ranges::any_of(cases, [](const AuditCase& entry) { return entry.sample.has_value(); });
  std::string words = fmt::format("{} of {} passed{}", grouped(s.pass),
                                  counted(static_cast<std::int64_t>(cases.size()), "case"),
                                  sampled ? " on samples of their rows" : "");
  if (s.fail > 0) words += fmt::format(", {} failed", grouped(s.fail));
  if (s.undecided > 0) words += fmt::format(", {} undecided", grouped(s.undecided));
  if (s.error > 0) words += fmt::format(", {} could not be read", grouped(s.error));
  return paragraph(words + "." + explained(cases, s.fail) + passes_with_gaps(cases));
}

// "12 of 24 elements violate the tolerance: all of batch 0.", by the output's name where it is not
// the usual one.
Markup violations_of(const OutputAudit& output) {
  const AuditTally& tally = output.result.tally;
  Markup words =
      text(fmt::format("{} of {}", grouped(tally.violations), counted(tally.elements, "element")));
  if (output.name != "output") words += text(" of ") + code(output.name);
  words += text(" violate the tolerance.");
  if (!output.result.where.empty()) words += text(" Where: " + output.result.where + ".");
  return element("p", words);
}

// How much of what is allowed each output took.
Markup shares_of(const AuditCase& entry) {
  const AuditTally& tally = entry.result->tally;
  if (entry.outputs.size() < 2) {
    const std::string share = share_text(tally);
    return paragraph(
        fmt::format("{}, largest certified error {} ulp{}{}.", counted(tally.elements, "element"),
                    figure(tally.max_ulp_error.upper), share.empty() ? "" : ", ", share));
  }
  Markup words;
  for (const OutputAudit& output : entry.outputs) {
    const AuditTally& of = output.result.tally;
    const std::string share = share_text(of);
    words += words.is_empty() ? Markup() : text("; ");
    words += code(output.name) +
             text(fmt::format(": {}, {} ulp{}{}", counted(of.elements, "element"),
                              figure(of.max_ulp_error.upper), share.empty() ? "" : ", ", share));
  }
  return element("p", text("Largest certified errors of ") + words + text("."));
}

// The fault by its name, or why there is none.
Markup what_is_wrong(const AuditCase& entry) {
  if (!entry.diagnosis || entry.verdict != Verdict::fail) return {};
  if (entry.diagnosis->explanations.empty()) {
    return paragraph(sentence(meaning_of(entry.diagnosis->status)));
  }
  const Explanation& first = entry.diagnosis->explanations.front();
  if (first.faults.empty()) return paragraph(sentence(first.sentence()));
  Markup named = element("strong", code(first.describe()));
  for (const Fault& fault : first.faults) {
    const bool is_everywhere = first.region.is_everywhere();
    named += text((&fault == &first.faults.front() ? ": " : "; ") +
                  (is_everywhere ? std::string(fault.kind->sentence) : fault.sentence));
  }
  return element("p", named + text("."));
}

// What else there is to say of the first output.
std::string more_of(const AuditCase& entry) {
  const OutputAudit first = first_output(entry);
  std::string words;
  const auto add = [&words](const std::string& more) {
    if (more.empty() || words.find(more) != words.npos) return;
    words += (words.empty() ? "" : " ") + sentence(more);
  };
  if (entry.verdict == Verdict::pass) add(shown_text(first.result.tally));
  add(open_text(entry, first));
  add(nothing_shown_text(first));
  add(undeclared_text(first));
  if (entry.sample) add("audited: " + describe(*entry.sample));
  return words;
}

// In the order of use: what is wrong, where, and what to try; or what the pass has shown.
Markup single_summary(const AuditCase& entry) {
  if (!entry.result) return paragraph(entry.error);
  Markup content = what_is_wrong(entry);
  bool violated = false;
  for (const OutputAudit& output : entry.outputs) {
    if (output.result.tally.violations == 0) continue;
    content += violations_of(output);
    violated = true;
  }
  content += what_to_try(entry);
  const Markup shares = violated ? Markup() : shares_of(entry);
  const std::string words = more_of(entry);
  const Markup more = words.empty() ? Markup() : paragraph(words);
  // Of what is open, why; how near the rest is comes after it.
  content += entry.verdict == Verdict::undecided ? more + shares : shares + more;
  return content + cannot_show(entry);
}

}  // namespace

std::string audit_html(const std::vector<AuditCase>& cases, const PageOrigin& origin) {
  Page page;
  page.origin = origin;
  page.kind = "audit";
  page.footnote = certified_footnote;
  const AuditSummary summary = summarise(cases);
  page.standing = standing_of(summary);
  page.verdict = word_of(summary);
  if (cases.size() == 1) {
    const std::string& path = cases.front().path;
    page.title = "Audit of " + file_name(path);
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
    page.can_be_sorted = overview.is_sortable();
    page.sections.push_back({"details", "Case by case", overview.details()});
  }
  return page_text(page);
}

}  // namespace gqa
