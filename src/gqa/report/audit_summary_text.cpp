#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "gqa/printable.hpp"
#include "gqa/report/audit_report.hpp"
#include "gqa/report/diagnosis_report.hpp"
#include "gqa/report/verdict_words.hpp"

namespace gqa {
namespace {

using Cases = std::vector<const AuditCase*>;

// A pass about which there is more to say than that it passed.
bool has_finding(const AuditCase& entry) {
  if (!entry.result || (entry.diagnosis && !entry.diagnosis->findings.empty())) return true;
  return std::ranges::any_of(entry.outputs, [](const OutputAudit& output) {
    const auto* model = std::get_if<ModelTolerance>(&output.tolerance);
    return !nothing_shown_text(output).empty() || !undeclared_text(output).empty() ||
           (model != nullptr && model->tried.size() > 1);
  });
}

// "a, b, c and 384 more".
std::string first_paths(const Cases& cases) {
  constexpr std::size_t shown = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(shown, cases.size()); ++i) {
    text += (text.empty() ? "" : ", ") + printable_line(cases[i]->path);
  }
  return cases.size() <= shown ? text : fmt::format("{} and {} more", text, cases.size() - shown);
}

// The case that took the largest share of what it was allowed.
std::string share_line(const Cases& passes) {
  const auto largest = std::ranges::max_element(
      passes, {}, [](const AuditCase* entry) { return entry->result->tally.max_share; });
  const std::string share = share_text((*largest)->result->tally);
  return share.empty() ? ""
                       : fmt::format("    largest errors: {}, in {}\n", share,
                                     printable_line((*largest)->path));
}

// Rows in which an output of zeros and others like it would have failed, over all of them.
std::string shown_line(const Cases& passes) {
  AuditTally all(1, 1, 1, 1);
  for (const AuditCase* entry : passes) all.nulls.merge(entry->result->tally.nulls);
  const std::string text = shown_text(all);
  return text.empty() ? "" : fmt::format("    {}\n", text);
}

// What some of the inputs cannot show, with how many of them.
std::string hidden_line(const Cases& passes) {
  std::map<std::string, std::size_t> counts;
  for (const AuditCase* entry : passes) {
    if (!entry->diagnosis) continue;
    for (const std::string& fault : hidden_from_people(*entry->diagnosis)) ++counts[fault];
  }
  if (counts.empty()) return "";
  std::vector<std::pair<std::string, std::size_t>> sorted(counts.begin(), counts.end());
  std::ranges::stable_sort(sorted, std::greater(), &std::pair<std::string, std::size_t>::second);
  constexpr std::size_t shown = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(shown, sorted.size()); ++i) {
    text += fmt::format("{}{} ({})", i == 0 ? "" : ", ", sorted[i].first, sorted[i].second);
  }
  if (sorted.size() > shown) text += fmt::format(" and {} more", sorted.size() - shown);
  return fmt::format("    inputs that cannot show a fault, by fault: {}\n", text);
}

// Which tolerances decided.
std::string tolerance_line(const Cases& passes) {
  std::map<std::string, std::size_t> counts;
  for (const AuditCase* entry : passes) ++counts[describe(entry->tolerance)];
  std::string text;
  for (const auto& [tolerance, count] : counts) {
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", tolerance, count);
  }
  return fmt::format("    against {}\n", text);
}

std::string passes_text(const Cases& passes) {
  std::int64_t elements = 0;
  for (const AuditCase* entry : passes) elements += entry->result->tally.elements;
  return fmt::format("{:<10}{} cases, {}: {}\n", name(Verdict::pass), passes.size(),
                     counted_words(elements, "element"), first_paths(passes)) +
         share_line(passes) + shown_line(passes) + hidden_line(passes) + tolerance_line(passes);
}

// A case in one line, behind those that are told in full.
std::string short_line(const AuditCase& entry) {
  return fmt::format("{:<10}{}: {}\n", name(entry.verdict), printable_line(entry.path),
                     headline(entry));
}

std::string told(const Cases& cases, std::size_t in_full) {
  std::string text;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    text += i < in_full ? case_text(*cases[i]) : short_line(*cases[i]);
  }
  return text;
}

std::string counts_line(const std::vector<AuditCase>& cases) {
  const AuditSummary s = summarise(cases);
  const bool sampled =
      std::ranges::any_of(cases, [](const AuditCase& entry) { return entry.sample.has_value(); });
  std::string text =
      fmt::format("{} of {} passed{}", s.pass, cases.size(), sampled ? " on samples" : "");
  if (s.fail > 0) text += fmt::format(", {} failed", s.fail);
  if (s.undecided > 0) text += fmt::format(", {} undecided", s.undecided);
  if (s.error > 0) text += fmt::format(", {} could not be read", s.error);
  return text + "\n";
}

}  // namespace

std::string audit_text(const std::vector<AuditCase>& cases, AuditDetail detail) {
  // More than a screen of the same is not read.
  constexpr std::size_t most_passes = 8;
  constexpr std::size_t most_others = 20;
  Cases plain;
  Cases others;
  for (const AuditCase& entry : cases) {
    const bool is_plain = entry.verdict == Verdict::pass && !has_finding(entry);
    (is_plain ? plain : others).push_back(&entry);
  }
  const bool is_short = detail == AuditDetail::every_case ||
                        (plain.size() <= most_passes && others.size() <= most_others);
  if (is_short) {
    std::string text;
    for (const AuditCase& entry : cases) text += case_text(entry);
    return text + counts_line(cases);
  }
  std::string text = told(others, most_others);
  if (plain.size() > most_passes) {
    text += passes_text(plain);
  } else {
    text += told(plain, plain.size());
  }
  return text + counts_line(cases);
}

}  // namespace gqa
