#include <fmt/format.h>
#include <fmt/ranges.h>

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
    content += head_map_picture(id + "-heads", *pictures.heads, found_title(pictures.found_by));
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

// "window.one_wide: the window is one key too wide"; empty without an explanation.
Markup named(const ProbeReport& report) {
  if (report.diagnosis.explanations.empty()) return {};
  const Explanation& first = report.diagnosis.explanations.front();
  Markup words = element("strong", code(first.describe()));
  for (const Fault& fault : first.faults) {
    words +=
        text((&fault == &first.faults.front() ? ": " : "; ") + std::string(fault.kind->sentence));
  }
  return words;
}

// Were the same things found in both types?
bool found_alike(const ProbeCase& a, const ProbeCase& b) {
  const auto same = [](const IdentifiedRule& x, const IdentifiedRule& y) {
    return x.rule == y.rule && x.agreement == y.agreement && x.found == y.found;
  };
  return std::ranges::equal(a.rules, b.rules, same) &&
         named(a.report).str() == named(b.report).str();
}

// "binary64, binary32": the types in which the same was found.
std::string types_text(const std::vector<const ProbeCase*>& cases) {
  std::vector<std::string_view> names;
  for (const ProbeCase* entry : cases) names.push_back(name(entry->report.type));
  return fmt::format("{}", fmt::join(names, ", "));
}

// Cases in which the same was found share a group, in the order of their first.
std::vector<std::vector<const ProbeCase*>> groups_of(const std::vector<ProbeCase>& cases) {
  std::vector<std::vector<const ProbeCase*>> groups;
  for (const ProbeCase& entry : cases) {
    const auto found = std::ranges::find_if(
        groups, [&entry](const auto& group) { return found_alike(*group.front(), entry); });
    if (found == groups.end()) {
      groups.push_back({&entry});
    } else {
      found->push_back(&entry);
    }
  }
  return groups;
}

// What was found, once for all types in which it was; then how many probes passed in each.
Markup summary_of(const std::vector<std::vector<const ProbeCase*>>& groups) {
  Markup content;
  for (const auto& group : groups) {
    const Markup fault = named(group.front()->report);
    if (fault.is_empty()) continue;
    content += element(
        "p",
        fault + text(groups.size() + group.size() > 2 ? " (in " + types_text(group) + ")." : "."));
  }
  for (const auto& group : groups) {
    for (const ProbeCase* entry : group) content += paragraph(counts_text(entry->report));
  }
  return content;
}

Markup arithmetic_table(const KernelArithmetic& arithmetic) {
  if (arithmetic.entries.empty()) return paragraph("Not read: " + arithmetic.reason + ".");
  Table table(fmt::format("How it computes, read off in {}", counted(arithmetic.calls, "call")),
              {{"Property"}, {"Reading"}, {"Found", ColumnKind::prose}});
  for (const ArithmeticEntry& entry : arithmetic.entries) {
    const bool is_known = entry.status == ReadingStatus::known;
    Markup found = text(entry.values.empty() ? "not identifiable"
                                             : fmt::format("{}", fmt::join(entry.values, ", or ")));
    if (!entry.note.empty()) found += text(" (" + entry.note + ")");
    table.add_row({text(entry.entry),
                   badge(is_known ? Standing::good : Standing::open, name(entry.status)), found});
  }
  return table.markup();
}

// What was found, the same in every type of the group.
void add_findings(Page& page, std::size_t number, const std::vector<const ProbeCase*>& group,
                  bool several) {
  const ProbeCase& entry = *group.front();
  const std::string id = several ? fmt::format("type-{}", number + 1) : std::string("found");
  const std::string in = several ? fmt::format(" ({})", types_text(group)) : "";
  const Markup diagnosis = diagnosis_section(id + "-inseparable", entry.report.diagnosis);
  if (!diagnosis.is_empty())
    page.sections.push_back({id + "-diagnosis", "Diagnosis" + in, diagnosis});
  const Markup pictures = all_pictures(id + "-picture", entry.report);
  if (!pictures.is_empty())
    page.sections.push_back({id + "-pictures", "What it reads" + in, pictures});
  page.sections.push_back({id + "-rules", "Declared and found" + in, rules_table(entry.rules)});
}

void add_figures(Page& page, std::size_t number, const ProbeCase& entry, bool several) {
  const std::string id = several ? fmt::format("type-{}", number + 1) : std::string("type");
  const std::string in = several ? fmt::format(" ({})", name(entry.report.type)) : "";
  if (entry.arithmetic)
    page.sections.push_back(
        {id + "-arithmetic", "Arithmetic" + in, arithmetic_table(*entry.arithmetic)});
  page.sections.push_back({id + "-probes", "Probes" + in, probes_table(entry.report)});
}

}  // namespace

std::string probe_html(const std::string& name, const std::vector<ProbeCase>& cases,
                       const PageOrigin& origin) {
  Page page;
  page.origin = origin;
  page.kind = "probes";
  page.footnote = certified_footnote;
  page.title = "Probes of " + name;
  page.standing = cases.empty() ? Standing::open : Standing::good;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Standing standing = standing_of(cases[i].report);
    if (standing == Standing::bad || page.standing == Standing::good) page.standing = standing;
  }
  const std::vector<std::vector<const ProbeCase*>> groups = groups_of(cases);
  page.summary = summary_of(groups);
  for (std::size_t i = 0; i < groups.size(); ++i)
    add_findings(page, i, groups[i], groups.size() > 1);
  for (std::size_t i = 0; i < cases.size(); ++i) add_figures(page, i, cases[i], cases.size() > 1);
  page.verdict = page.standing == Standing::good  ? "Pass"
                 : page.standing == Standing::bad ? "Fail"
                                                  : "Undecided";
  return page_text(page);
}

}  // namespace gqa
