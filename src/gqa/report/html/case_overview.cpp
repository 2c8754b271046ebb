#include "gqa/report/html/case_overview.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "gqa/report/html/audit_case_section.hpp"
#include "gqa/report/html/number_text.hpp"
#include "gqa/report/html/page.hpp"
#include "gqa/report/html/sections.hpp"
#include "gqa/report/html/table.hpp"

namespace gqa::html {
namespace {

std::string id_of(std::size_t number) {
  return fmt::format("case-{}", number + 1);
}

int rank(Verdict verdict) {
  switch (verdict) {
    case Verdict::error:
      return 0;
    case Verdict::fail:
      return 1;
    case Verdict::undecided:
      return 2;
    case Verdict::pass:
      return 3;
  }
  return 0;
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
  if (entry.diagnosis->explanations.empty()) {
    return text(std::string(name(entry.diagnosis->status)));
  }
  const std::string named = named_faults(*entry.diagnosis);
  if (named.empty()) return text(std::string(name(entry.diagnosis->status)));
  const std::size_t others = entry.diagnosis->explanations.size() - 1;
  Markup content = code(named);
  if (others > 0) {
    content += text(fmt::format(" or {} other{}", others, others == 1 ? "" : "s"));
  }
  return content;
}

// The cases of a fault set, by its name, with the faults themselves; or those that have no name, by
// their status.
struct NamedGroup {
  const Explanation* explanation = nullptr;
  DiagnosisStatus status = DiagnosisStatus::named;
  std::int64_t cases = 0;
};

std::vector<std::pair<std::string, NamedGroup>> groups_of(const std::vector<AuditCase>& cases) {
  std::map<std::string, NamedGroup> by_name;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (!cases[i].diagnosis || cases[i].verdict != Verdict::fail) continue;
    const Diagnosis& diagnosis = *cases[i].diagnosis;
    const std::string named = named_faults(diagnosis);
    NamedGroup& group = by_name[named.empty() ? std::string(name(diagnosis.status)) : named];
    if (!named.empty()) group.explanation = &diagnosis.explanations.front();
    group.status = diagnosis.status;
    ++group.cases;
  }
  std::vector<std::pair<std::string, NamedGroup>> groups(by_name.begin(), by_name.end());
  std::ranges::stable_sort(groups, std::greater(),
                           [](const auto& group) { return group.second.cases; });
  return groups;
}

}  // namespace

CaseOverview::CaseOverview(const std::vector<AuditCase>& cases)
    : cases_(cases), order_(cases.size()), is_detailed_(cases.size(), 0) {
  const std::string& first = cases.front().path;
  prefix_ = suffix_ = first.size();
  for (const AuditCase& entry : cases) {
    const auto same_start = std::ranges::mismatch(first, entry.path).in1 - first.begin();
    prefix_ = std::min(prefix_, static_cast<std::size_t>(same_start));
    const auto same_end =
        std::mismatch(first.rbegin(), first.rend(), entry.path.rbegin(), entry.path.rend()).first;
    suffix_ = std::min(suffix_, static_cast<std::size_t>(same_end - first.rbegin()));
  }
  const std::size_t slash = prefix_ == 0 ? std::string::npos : first.rfind('/', prefix_ - 1);
  prefix_ = slash == std::string::npos ? 0 : slash + 1;
  const std::size_t last = first.find('/', first.size() - suffix_);
  suffix_ = last == std::string::npos ? 0 : first.size() - last;
  for (const AuditCase& entry : cases) {
    if (prefix_ + suffix_ >= entry.path.size()) prefix_ = suffix_ = 0;
  }
  for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = i;
  std::ranges::stable_sort(order_, {}, [&](std::size_t i) { return rank(cases[i].verdict); });
  std::size_t bytes = 0;
  details_.resize(cases.size());
  for (std::size_t n = 0; n < std::min(most_details, order_.size()); ++n) {
    const std::size_t number = order_[n];
    is_detailed_[number] = 1;
    const bool is_few = cases.size() <= most_with_parts;
    const CaseDetail amount = is_few                      ? CaseDetail::parts
                              : bytes < room_for_pictures ? CaseDetail::pictures
                                                          : CaseDetail::words;
    if (amount == CaseDetail::words) ++without_pictures_;
    details_[number] = detail(number, amount);
    bytes += details_[number].str().size();
  }
}

std::string CaseOverview::folder() const {
  if (prefix_ < 2) return "";
  const std::string& path = cases_.front().path;
  const std::size_t before = path.rfind('/', prefix_ - 2);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  return " in " + path.substr(begin, prefix_ - 1 - begin);
}

std::string CaseOverview::label(const AuditCase& entry) const {
  return entry.path.substr(prefix_, entry.path.size() - prefix_ - suffix_);
}

Markup CaseOverview::link(std::size_t number) const {
  const Markup name = foreign(label(cases_[number]));
  if (is_detailed_[number] == 0) return name;
  return element("a", Attributes{{"href", "#" + id_of(number)}}, name);
}

Markup CaseOverview::faults() const {
  Table table("What explains the failures, and how many of them",
              {{"Fault"},
               {"Cases", ColumnKind::number},
               {"What it does, and its wrong formula", ColumnKind::prose}});
  for (const auto& [name, group] : groups_of(cases_)) {
    Markup names;
    Markup meanings;
    if (group.explanation == nullptr) {
      names = text(name);
      meanings = text(sentence(meaning_of(group.status)));
    }
    for (const Fault& fault :
         group.explanation == nullptr ? std::vector<Fault>() : group.explanation->faults) {
      names += element("div", (names.is_empty() ? Markup() : text("+ ")) + code(fault.describe()));
      meanings += element("div", text(sentence(fault.kind->sentence))) +
                  element("span", "formula", text(fault.kind->formula));
    }
    table.add_row({names, text(grouped(group.cases)), meanings});
  }
  return table.is_empty() ? Markup() : table.markup();
}

// Shows the rows of one verdict, by the page's style alone.
Markup CaseOverview::filter() const {
  std::map<std::string_view, std::int64_t> counts;
  for (const AuditCase& entry : cases_) ++counts[name(entry.verdict)];
  if (!is_sortable() || counts.size() < 2) return {};
  const auto choice = [](std::string_view word, std::int64_t count, bool is_first) {
    const std::string id = fmt::format("show-{}", word);
    Attributes attributes{{"type", "radio"}, {"name", "show"}, {"id", id}};
    if (is_first) attributes.push_back({"checked", "checked"});
    return element("span", element("input", attributes) +
                               element("label", Attributes{{"for", id}},
                                       text(fmt::format(" {} ({})", word, grouped(count)))));
  };
  Markup choices =
      element("legend", "Show") + choice("all", static_cast<std::int64_t>(cases_.size()), true);
  for (const auto& [word, count] : counts) choices += choice(word, count, false);
  return element("fieldset", "filter", choices);
}

Markup CaseOverview::table() const {
  const bool diagnosed =
      std::ranges::any_of(cases_, [](const AuditCase& e) { return e.verdict != Verdict::pass; });
  std::vector<Column> columns{{"Case", ColumnKind::name}, {"Verdict"}};
  if (diagnosed) columns.push_back({"Named fault"});
  columns.push_back({"Violations", ColumnKind::number});
  columns.push_back({"Elements", ColumnKind::number});
  columns.push_back({"Largest error, ulp", ColumnKind::number});
  columns.push_back({"Tolerance"});
  Table table(diagnosed ? "Every case, failures first" : "Every case", columns);
  for (const std::size_t i : order_) {
    const AuditCase& entry = cases_[i];
    const bool known = entry.result.has_value();
    std::vector<Markup> cells{link(i), badge(entry.verdict)};
    if (diagnosed) cells.push_back(diagnosis_cell(entry));
    cells.push_back(text(known ? grouped(violations_of(entry)) : "\u2013"));
    cells.push_back(text(known ? grouped(entry.result->tally.elements) : "\u2013"));
    cells.push_back(text(known ? figure(entry.result->tally.max_ulp_error.upper) : "\u2013"));
    cells.push_back(text(known ? tolerance_text(entry) : "\u2013"));
    table.add_row(cells, fmt::format("v-{}", name(entry.verdict)));
  }
  Markup where;
  if (prefix_ > 0) {
    const std::string& first = cases_.front().path;
    where = element("p", "quiet", text("All in ") + foreign(first.substr(0, prefix_)));
  }
  return where + filter() + table.markup(is_sortable());
}

Markup CaseOverview::detail(std::size_t number, CaseDetail amount) const {
  const AuditCase& entry = cases_[number];
  Markup summary = badge(entry.verdict) + text(" ") + foreign(label(entry));
  if (entry.diagnosis && entry.verdict == Verdict::fail) {
    const std::string named = named_faults(*entry.diagnosis);
    summary +=
        text(" ") +
        element("span", "where", named.empty() ? text(name(entry.diagnosis->status)) : code(named));
  }
  const std::string id = id_of(number);
  return element("div", fmt::format("case d-{}", name(entry.verdict)),
                 foldable(id, summary, audit_case_section(id, entry, amount)));
}

Markup CaseOverview::details() const {
  Markup content;
  std::string words;
  if (cases_.size() > most_details) {
    words = fmt::format("{} of {} are shown here, failures first.",
                        grouped(static_cast<std::int64_t>(most_details)),
                        counted(static_cast<std::int64_t>(cases_.size()), "case"));
  }
  if (without_pictures_ > 0) {
    words += fmt::format(" {} without pictures: audit one alone to see its own.",
                         grouped(static_cast<std::int64_t>(without_pictures_)));
  }
  if (!words.empty()) content += element("p", "quiet", text(words));
  Markup shown;
  for (const Markup& one : details_) shown += one;
  if (cases_.size() <= most_with_parts) return content + shown;
  // On paper hundreds of passes would bury what fails.
  return content +
         element("p", "paper",
                 text("Passing cases are in the table; their details are "
                      "not printed.")) +
         element("div", "failures-on-paper", shown);
}

}  // namespace gqa::html
