#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "gqa/report/html/audit_case_section.hpp"
#include "gqa/report/html/number_text.hpp"
#include "gqa/report/html/page.hpp"
#include "gqa/report/html/pages.hpp"
#include "gqa/report/html/sections.hpp"
#include "gqa/report/html/table.hpp"

namespace gqa {
namespace {

using namespace html;  // NOLINT: the vocabulary of this file

std::string id_of(std::size_t number) {
  return fmt::format("case-{}", number + 1);
}

// What all paths begin with, up to a separator, and what all end with, from one.
struct SharedParts {
  std::size_t prefix = 0;
  std::size_t suffix = 0;

  explicit SharedParts(const std::vector<AuditCase>& cases) {
    const std::string& first = cases.front().path;
    prefix = suffix = first.size();
    for (const AuditCase& entry : cases) {
      const auto same_start = std::ranges::mismatch(first, entry.path).in1 - first.begin();
      prefix = std::min(prefix, static_cast<std::size_t>(same_start));
      const auto same_end =
          std::mismatch(first.rbegin(), first.rend(), entry.path.rbegin(), entry.path.rend()).first;
      suffix = std::min(suffix, static_cast<std::size_t>(same_end - first.rbegin()));
    }
    const std::size_t slash = prefix == 0 ? std::string::npos : first.rfind('/', prefix - 1);
    prefix = slash == std::string::npos ? 0 : slash + 1;
    const std::size_t last = first.find('/', first.size() - suffix);
    suffix = last == std::string::npos ? 0 : first.size() - last;
    for (const AuditCase& entry : cases) {
      if (prefix + suffix >= entry.path.size()) prefix = suffix = 0;
    }
  }
  // " in NAME": the last folder that all paths have in common.
  std::string folder(const std::string& path) const {
    if (prefix < 2) return "";
    const std::size_t before = path.rfind('/', prefix - 2);
    const std::size_t begin = before == std::string::npos ? 0 : before + 1;
    return " in " + path.substr(begin, prefix - 1 - begin);
  }
  std::string of(const std::string& path) const {
    return path.substr(prefix, path.size() - prefix - suffix);
  }
};

std::string label_of(const AuditCase& entry, const SharedParts& shared) {
  return shared.of(entry.path);
}

Markup link_to(std::size_t number, const Markup& content) {
  return element("a", Attributes{{"href", "#" + id_of(number)}}, content);
}

// Worst first, otherwise as given.
std::vector<std::size_t> order_of(const std::vector<AuditCase>& cases) {
  const auto rank = [](Verdict verdict) {
    return verdict == Verdict::error       ? 0
           : verdict == Verdict::fail      ? 1
           : verdict == Verdict::undecided ? 2
                                           : 3;
  };
  std::vector<std::size_t> order(cases.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return rank(cases[i].verdict); });
  return order;
}

// Of all outputs: a case may fail by another one than `output`.
std::int64_t violations_of(const AuditCase& entry) {
  std::int64_t violations = 0;
  for (const OutputAudit& output : entry.outputs) violations += output.result.tally.violations;
  return violations;
}

// A model by its name, as the column has little room.
std::string tolerance_text(const AuditCase& entry) {
  const auto* model = std::get_if<ModelTolerance>(&entry.tolerance);
  return model != nullptr ? fmt::format("model\u00A0{}", model->model->name)
                          : describe(entry.tolerance);
}

Markup diagnosis_cell(const AuditCase& entry) {
  if (!entry.result) return code(entry.error_code);
  if (!entry.diagnosis || entry.diagnosis->status == DiagnosisStatus::none) {
    return text(entry.verdict == Verdict::pass ? "" : "\u2013");
  }
  if (entry.diagnosis->explanations.empty()) return text("unexplained");
  const std::size_t others = entry.diagnosis->explanations.size() - 1;
  Markup content = code(named_faults(*entry.diagnosis));
  if (others > 0) {
    content += text(fmt::format(" or {} other{}", others, others == 1 ? "" : "s"));
  }
  return content;
}

Markup case_table(const std::vector<AuditCase>& cases, const SharedParts& shared) {
  const bool diagnosed =
      std::ranges::any_of(cases, [](const AuditCase& e) { return e.verdict != Verdict::pass; });
  std::vector<Column> columns{{"Case"}, {"Verdict"}};
  if (diagnosed) columns.push_back({"Named fault"});
  columns.push_back({"Violations", ColumnKind::number});
  columns.push_back({"Elements", ColumnKind::number});
  columns.push_back({"Largest error, ulp", ColumnKind::number});
  columns.push_back({"Tolerance"});
  Table table(diagnosed ? "Every case, failures first" : "Every case", columns);
  for (const std::size_t i : order_of(cases)) {
    const AuditCase& entry = cases[i];
    const bool known = entry.result.has_value();
    std::vector<Markup> cells{link_to(i, foreign(label_of(entry, shared))), badge(entry.verdict)};
    if (diagnosed) cells.push_back(diagnosis_cell(entry));
    cells.push_back(text(known ? grouped(violations_of(entry)) : "\u2013"));
    cells.push_back(text(known ? grouped(entry.result->tally.elements) : "\u2013"));
    cells.push_back(text(known ? figure(entry.result->tally.max_ulp_error.upper) : "\u2013"));
    cells.push_back(text(known ? tolerance_text(entry) : "\u2013"));
    table.add_row(cells);
  }
  Markup where;
  if (shared.prefix > 0) {
    const std::string& first = cases.front().path;
    where = element("p", "quiet", text("All in ") + foreign(first.substr(0, shared.prefix)));
  }
  return where + table.markup();
}

// The cases of a fault set, by its name, with the faults themselves.
struct NamedGroup {
  const Explanation* explanation = nullptr;
  std::vector<std::size_t> cases;
};

std::vector<std::pair<std::string, NamedGroup>> groups_of(const std::vector<AuditCase>& cases) {
  std::map<std::string, NamedGroup> by_name;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (!cases[i].diagnosis || cases[i].diagnosis->explanations.empty()) continue;
    NamedGroup& group = by_name[named_faults(*cases[i].diagnosis)];
    if (group.explanation == nullptr) {
      group.explanation = &cases[i].diagnosis->explanations.front();
    }
    group.cases.push_back(i);
  }
  std::vector<std::pair<std::string, NamedGroup>> groups(by_name.begin(), by_name.end());
  std::ranges::stable_sort(groups, std::greater(),
                           [](const auto& group) { return group.second.cases.size(); });
  return groups;
}

// Each set of faults with its sentences and wrong formulas.
Markup fault_table(const std::vector<AuditCase>& cases) {
  Table table("Named faults and how many cases they explain",
              {{"Fault"},
               {"Cases", ColumnKind::number},
               {"What it does, and its wrong formula", ColumnKind::prose}});
  for (const auto& [name, group] : groups_of(cases)) {
    Markup names;
    Markup meanings;
    for (const Fault& fault : group.explanation->faults) {
      names += element("div", (names.is_empty() ? Markup() : text("+ ")) + code(fault.describe()));
      meanings += element("div", text(sentence(fault.kind->sentence))) +
                  element("span", "formula", text(fault.kind->formula));
    }
    table.add_row({names, text(grouped(static_cast<std::int64_t>(group.cases.size()))), meanings});
  }
  return table.is_empty() ? Markup() : table.markup();
}

Markup case_details(const std::vector<AuditCase>& cases, const SharedParts& shared) {
  Markup content;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const AuditCase& entry = cases[i];
    Markup summary = badge(entry.verdict) + text(" ") + foreign(label_of(entry, shared));
    if (entry.diagnosis && !entry.diagnosis->explanations.empty()) {
      summary += text(" ") + element("span", "where", code(named_faults(*entry.diagnosis)));
    }
    content +=
        element("div", "case", foldable(id_of(i), summary, audit_case_section(id_of(i), entry)));
  }
  return content;
}

std::int64_t named_cases(const std::vector<AuditCase>& cases) {
  return std::ranges::count_if(cases, [](const AuditCase& entry) {
    return entry.diagnosis && entry.diagnosis->status == DiagnosisStatus::named;
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
  return paragraph(words);
}

Markup single_summary(const AuditCase& entry) {
  if (!entry.result) return paragraph(entry.error);
  const AuditTally& tally = entry.result->tally;
  std::string words =
      tally.violations > 0
          ? fmt::format("{} of {} violate the tolerance.", grouped(tally.violations),
                        counted(tally.elements, "element"))
          : fmt::format("{}, largest certified error {} ulp.", counted(tally.elements, "element"),
                        figure(tally.max_ulp_error.upper));
  if (entry.sample) words += fmt::format(" Audited: {}.", describe(*entry.sample));
  Markup content = paragraph(words);
  if (!entry.result->where.empty()) content += paragraph("Where: " + entry.result->where + ".");
  if (!entry.diagnosis || entry.diagnosis->explanations.empty()) return content;
  const Explanation& first = entry.diagnosis->explanations.front();
  Markup named = element("strong", code(first.describe()));
  for (const Fault& fault : first.faults) {
    named +=
        text((&fault == &first.faults.front() ? ": " : "; ") + std::string(fault.kind->sentence));
  }
  return content + element("p", named + text("."));
}

}  // namespace

std::string audit_html(const std::vector<AuditCase>& cases) {
  Page page;
  page.kind = "audit";
  const AuditSummary summary = summarise(cases);
  page.standing = standing_of(summary);
  page.verdict = word_of(summary);
  if (cases.size() == 1) {
    const std::string& path = cases.front().path;
    page.title = "Audit of " + path.substr(path.rfind('/') + 1);
    page.summary = single_summary(cases.front());
    page.sections.push_back({id_of(0), "The audit",
                             element("p", "quiet", foreign(path)) +
                                 audit_case_section(id_of(0) + "-part", cases.front())});
    return page_text(page);
  }
  page.title = fmt::format("Audit of {}", counted(static_cast<std::int64_t>(cases.size()), "case"));
  page.summary = summary_of(cases);
  if (!cases.empty()) {
    const SharedParts shared(cases);
    page.title += shared.folder(cases.front().path);
    const Markup faults = fault_table(cases);
    if (!faults.is_empty()) page.sections.push_back({"faults", "What is wrong", faults});
    page.sections.push_back({"cases", "All cases", case_table(cases, shared)});
    page.sections.push_back({"details", "Case by case", case_details(cases, shared)});
  }
  return page_text(page);
}

}  // namespace gqa
