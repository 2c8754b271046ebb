#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "gqa/report/html/number_text.hpp"
#include "gqa/report/html/page.hpp"
#include "gqa/report/html/pages.hpp"
#include "gqa/report/html/pictures.hpp"
#include "gqa/report/html/sections.hpp"
#include "gqa/report/html/table.hpp"

namespace gqa {
namespace {

using namespace html;  // NOLINT: the vocabulary of this file

// As the commands decide their exit status.
Standing standing_of(const ProbeReport& report) {
  if (report.count(Verdict::fail) > 0 || report.has_findings()) return Standing::bad;
  const auto all = static_cast<std::int64_t>(report.results.size());
  return report.count(Verdict::pass) == all && all > 0 ? Standing::good : Standing::open;
}

Markup agreement_badge(Agreement agreement) {
  switch (agreement) {
    case Agreement::agrees:
      return badge(Standing::good, "as declared");
    case Agreement::differs:
      return badge(Standing::bad, "differs");
    case Agreement::undetermined:
      return badge(Standing::open, "undetermined");
  }
  return {};
}

Markup rules_table(const std::vector<IdentifiedRule>& rules) {
  Table table(
      "The contract, rule by rule: what was declared and what the answers show",
      {{"Rule"}, {"Agreement"}, {"Declared", ColumnKind::prose}, {"Found", ColumnKind::prose}});
  for (const IdentifiedRule& rule : rules) {
    table.add_row({text(rule.rule), agreement_badge(rule.agreement), text(rule.declared),
                   text(rule.agreement == Agreement::agrees ? "the same" : rule.found)});
  }
  return table.markup();
}

Markup probe_badge(const ProbeResult& result) {
  return result.answer.supported ? badge(result.verdict) : badge(Standing::open, "not answered");
}

Markup probes_table(const ProbeReport& report) {
  Table table("Every probe", {{"Probe"},
                              {"Verdict"},
                              {"Tells apart", ColumnKind::prose},
                              {"Violations", ColumnKind::number},
                              {"Where", ColumnKind::prose}});
  std::vector<const ProbeResult*> results;
  for (const ProbeResult& result : report.results) results.push_back(&result);
  std::ranges::stable_sort(results, {}, [](const ProbeResult* r) {
    if (!r->answer.supported) return 3;
    return r->verdict == Verdict::pass ? 2 : r->verdict == Verdict::fail ? 0 : 1;
  });
  for (const ProbeResult* result : results) {
    Markup where = text(result->where);
    if (!result->error.empty()) where += element("p", foreign(result->error));
    if (!result->answer.finding.empty()) {
      where += element("p", text("finding: ") + foreign(result->answer.finding));
    }
    table.add_row({code(result->probe.name), probe_badge(*result), text(result->probe.reads),
                   text(result->violations > 0 ? grouped(result->violations) : ""), where});
  }
  return table.markup();
}

bool shows_difference(const VisibleKeysPicture& keys) {
  return std::ranges::count(keys.is_extra, 1) + std::ranges::count(keys.is_missing, 1) > 0;
}

// Where the named fault changes what this probe's heads or rows read.
Markup pictures_of(const std::string& id, const ProbeResult& result, const ProbeReport& report,
                   std::set<std::vector<std::int64_t>>& drawn) {
  if (result.verdict != Verdict::fail || result.probe.tensors.cu_seqlens_q) return {};
  const AuditPictures pictures = audit_pictures(result.probe.tensors, result.probe.contract,
                                                report.tolerance, {}, &report.diagnosis);
  Markup content;
  if (pictures.heads &&
      !(pictures.heads->found_key.empty() && pictures.heads->found_value.empty()) &&
      drawn.insert(pictures.heads->declared).second) {
    content += head_map_picture(id + "-heads", *pictures.heads, pictures.found_by);
  }
  if (pictures.visible_keys && shows_difference(*pictures.visible_keys)) {
    content += visible_keys_picture(id + "-keys", *pictures.visible_keys, pictures.found_by);
  }
  if (content.is_empty()) return {};
  return heading(3, "Probe " + result.probe.name) + content;
}

Markup all_pictures(const std::string& id, const ProbeReport& report) {
  constexpr int most = 6;
  std::set<std::vector<std::int64_t>> maps;  // one picture of each is enough
  Markup content;
  int drawn = 0;
  for (std::size_t i = 0; i < report.results.size() && drawn < most; ++i) {
    const Markup one =
        pictures_of(fmt::format("{}-{}", id, i + 1), report.results[i], report, maps);
    if (!one.is_empty()) ++drawn;
    content += one;
  }
  return content;
}

std::string counts_text(const ProbeReport& report) {
  const auto asked = static_cast<std::int64_t>(report.results.size()) - report.unsupported();
  std::string words =
      fmt::format("{} of {} in {} passed against {}", report.count(Verdict::pass),
                  counted(asked, "probe"), name(report.type), describe(report.tolerance));
  if (report.unsupported() > 0) {
    words += fmt::format("; {} not answered: not verified", report.unsupported());
  }
  return words + ".";
}

Markup summary_of(const ProbeReport& report) {
  Markup content = paragraph(counts_text(report));
  if (report.diagnosis.explanations.empty()) return content;
  const Explanation& first = report.diagnosis.explanations.front();
  Markup named = element("strong", code(first.describe()));
  for (const Fault& fault : first.faults) {
    named +=
        text((&fault == &first.faults.front() ? ": " : "; ") + std::string(fault.kind->sentence));
  }
  return content + element("p", named + text("."));
}

void add_sections(Page& page, std::size_t number, const ProbeCase& entry, bool several) {
  const std::string id = several ? fmt::format("type-{}", number + 1) : std::string("probes");
  const std::string in = several ? fmt::format(" ({})", name(entry.report.type)) : "";
  const Markup diagnosis = diagnosis_section(id + "-inseparable", entry.report.diagnosis);
  if (!diagnosis.is_empty())
    page.sections.push_back({id + "-diagnosis", "Diagnosis" + in, diagnosis});
  page.sections.push_back({id + "-rules", "Declared and found" + in, rules_table(entry.rules)});
  const Markup pictures = all_pictures(id + "-picture", entry.report);
  if (!pictures.is_empty())
    page.sections.push_back({id + "-pictures", "What it reads" + in, pictures});
  page.sections.push_back({id, "Probes" + in, probes_table(entry.report)});
}

}  // namespace

std::string probe_html(const std::string& name, const std::vector<ProbeCase>& cases,
                       const PageOrigin& origin) {
  Page page;
  page.origin = origin;
  page.kind = "probes";
  page.title = "Probes of " + name;
  page.standing = cases.empty() ? Standing::open : Standing::good;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Standing standing = standing_of(cases[i].report);
    if (standing == Standing::bad || page.standing == Standing::good) page.standing = standing;
    page.summary += summary_of(cases[i].report);
    add_sections(page, i, cases[i], cases.size() > 1);
  }
  page.verdict = page.standing == Standing::good  ? "Pass"
                 : page.standing == Standing::bad ? "Fail"
                                                  : "Undecided";
  return page_text(page);
}

}  // namespace gqa
