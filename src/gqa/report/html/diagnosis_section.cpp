#include <fmt/format.h>

#include "gqa/report/html/number_text.hpp"
#include "gqa/report/html/sections.hpp"
#include "gqa/report/html/table.hpp"

namespace gqa::html {
namespace {

// What a name of a pair of `inseparable` says; it may be "contract" or several faults.
std::string sentence_of(const std::string& slug) {
  const FaultKind* kind = find_named(slug);
  return kind != nullptr ? std::string(kind->sentence) : "";
}

// `is_first`: of its tensor.
Markup explanation_markup(const Explanation& explanation, bool is_first) {
  Markup content;
  if (!is_first) content += element("p", "or", text("or just as well"));
  if (is_first && explanation.tensor != "output") {
    content += element("p", text("Of ") + code(explanation.tensor) + text(":"));
  }
  if (explanation.faults.empty()) content += paragraph(sentence(explanation.sentence()));
  if (explanation.faults.size() > 1) {
    content += paragraph(fmt::format("{} faults together:", explanation.faults.size()));
  }
  for (const Fault& fault : explanation.faults) content += fault_markup(fault);
  if (explanation.rows > 0 && !explanation.faults.empty()) {
    content += element(
        "p", "quiet",
        text(fmt::format("With that, every row compared ({}) is within tolerance; {} certified.",
                         grouped(explanation.rows), grouped(explanation.certified_rows))));
  }
  return content;
}

// Is the output itself, or what has no account of its own, unexplained?
bool output_is_unexplained(const Diagnosis& diagnosis) {
  if (diagnosis.tensors.empty()) return diagnosis.status == DiagnosisStatus::unexplained;
  const TensorAccount& first = diagnosis.tensors.front();
  return first.tensor == "output" && first.status == DiagnosisStatus::unexplained;
}

// "grad_key: unexplained.": the name is no word that begins a sentence.
Markup account_markup(const TensorAccount& account) {
  std::string_view words = account.sentence;
  if (!words.starts_with(account.tensor)) return paragraph(sentence(words));
  words.remove_prefix(account.tensor.size());
  return element("p", code(account.tensor) + text(std::string(words) + "."));
}

Markup unexplained_markup(const Diagnosis& diagnosis) {
  Markup content;
  if (output_is_unexplained(diagnosis)) {
    content += paragraph(fmt::format(
        "Unexplained: no {}of up to three known faults makes every row right ({} tried).",
        diagnosis.cut_short ? "tried set " : "set ", counted(diagnosis.candidates, "set")));
  }
  for (const TensorAccount& account : diagnosis.tensors) {
    const bool told = account.tensor == "output" || account.status != DiagnosisStatus::unexplained;
    if (!told) content += account_markup(account);
  }
  std::vector<Markup> measured;
  for (const std::string& measurement : diagnosis.measurements) {
    measured.push_back(text(measurement));
  }
  return measured.empty() ? content : content + bullets(measured);
}

Markup not_shown_markup(const std::string& id, const HiddenFaults& hidden) {
  if (hidden.rows_compared.empty()) return {};
  std::vector<Markup> faults;
  for (const std::string& slug : hidden.rows_compared) {
    faults.push_back(code(slug) + text(": " + sentence_of(slug)));
  }
  return foldable(id,
                  text(fmt::format("Not shown in the {} of {} rows asked: {}", grouped(hidden.rows),
                                   grouped(hidden.of),
                                   counted(static_cast<std::int64_t>(faults.size()), "fault"))),
                  bullets(faults));
}

Markup inseparable_markup(const std::string& id, const Diagnosis& diagnosis) {
  if (diagnosis.inseparable.empty()) return {};
  Table table("What these inputs cannot tell apart",
              {{"This"}, {"from this"}, {"which means", ColumnKind::prose}});
  for (const auto& [first, second] : diagnosis.inseparable) {
    table.add_row({first == "contract" ? text("the contract") : code(first), code(second),
                   text(sentence_of(second))});
  }
  return foldable(
      id,
      text(fmt::format("These inputs cannot tell apart {}",
                       counted(static_cast<std::int64_t>(diagnosis.inseparable.size()), "pair"))),
      table.markup());
}

}  // namespace

Markup fault_markup(const Fault& fault) {
  return element(
      "div", "fault",
      element("p", "slug", code(fault.describe())) +
          paragraph(sentence(fault.sentence.empty() ? fault.kind->sentence : fault.sentence)) +
          element("p", element("span", "formula", text(fault.kind->formula))));
}

std::string named_faults(const Diagnosis& diagnosis) {
  if (diagnosis.explanations.empty()) return "";
  const Explanation& first = diagnosis.explanations.front();
  return first.faults.empty() ? "" : first.describe();
}

std::string_view meaning_of(DiagnosisStatus status) {
  switch (status) {
    case DiagnosisStatus::none:
      return "nothing fails";
    case DiagnosisStatus::rounding:
      return "beyond the stated tolerance, but within what the rounding of a model allows";
    case DiagnosisStatus::named:
      return "known faults explain it";
    case DiagnosisStatus::measured:
      return "no known fault explains it; numbers read off the data do";
    case DiagnosisStatus::located:
      return "no known fault explains it; where it is wrong is all that is known";
    case DiagnosisStatus::unexplained:
      return "no known fault explains it";
  }
  return "";
}

Markup diagnosis_section(const std::string& id, const Diagnosis& diagnosis) {
  Markup content;
  std::string tensor;
  for (const Explanation& explanation : diagnosis.explanations) {
    content += explanation_markup(explanation, explanation.tensor != tensor);
    tensor = explanation.tensor;
  }
  if (diagnosis.status == DiagnosisStatus::unexplained) content += unexplained_markup(diagnosis);
  if (diagnosis.status == DiagnosisStatus::rounding && !diagnosis.tensors.empty()) {
    content += account_markup(diagnosis.tensors.front());
  }
  for (const std::string& finding : diagnosis.findings) {
    content += paragraph(sentence("finding: " + finding));
  }
  return content + inseparable_markup(id, diagnosis) +
         not_shown_markup(id + "-not-shown", diagnosis.hidden);
}

}  // namespace gqa::html
