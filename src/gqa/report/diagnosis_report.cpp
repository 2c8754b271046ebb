#include "gqa/report/diagnosis_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <vector>

namespace gqa {
namespace {

std::string fault_lines(const Fault& fault, const std::string& tensor, const std::string& indent) {
  // The line before names the tensor, but where the sentence begins with it.
  const bool begins_with_name = family(*fault.kind) == "content";
  const std::string said =
      Explanation{{fault}, 0, 0, begins_with_name ? tensor : std::string("output")}.sentence();
  std::string text = fmt::format("{}{}: {}\n", indent, fault.describe(), said);
  text += fmt::format("{}    {}\n", indent, fault.kind->formula);
  return text;
}

// "diagnosis", "diagnosis of grad_key".
std::string diagnosis_of(const std::string& tensor) {
  return tensor == "output" ? "diagnosis" : "diagnosis of " + tensor;
}

std::string explanation_lines(const Explanation& explanation, bool is_first,
                              const std::string& indent) {
  if (explanation.faults.empty()) {
    return fmt::format("{}{}: {}\n", indent, diagnosis_of(explanation.tensor),
                       explanation.sentence());
  }
  const bool several = explanation.faults.size() > 1;
  std::string text =
      fmt::format("{}{}{}\n", indent,
                  is_first ? diagnosis_of(explanation.tensor) : std::string("or just as well"),
                  several ? fmt::format(", {} faults together:", explanation.faults.size()) : ":");
  for (const Fault& fault : explanation.faults) {
    text += fault_lines(fault, explanation.tensor, indent + "  ");
  }
  return text;
}

// Tensors that no explanation speaks of. Where that is `output`, or where no account was made, the
// search and its measurements are told.
std::string unexplained_lines(const Diagnosis& diagnosis, const std::string& indent) {
  std::string text;
  const bool of_output = diagnosis.tensors.empty() || diagnosis.tensors.front().tensor == "output";
  const auto status =
      diagnosis.tensors.empty() ? diagnosis.status : diagnosis.tensors.front().status;
  if (of_output && status == DiagnosisStatus::unexplained) {
    text +=
        fmt::format("{}diagnosis: unexplained by any {}of up to three known faults ({} tried)\n",
                    indent, diagnosis.cut_short ? "tried set " : "set ", diagnosis.candidates);
  }
  for (const TensorAccount& account : diagnosis.tensors) {
    if (account.status == DiagnosisStatus::unexplained && account.tensor != "output") {
      text += fmt::format("{}diagnosis of {}\n", indent, account.sentence);
    }
    if (account.status == DiagnosisStatus::rounding) {
      text += fmt::format("{}{}: {}\n", indent, diagnosis_of(account.tensor), account.sentence);
    }
  }
  for (const std::string& line : diagnosis.measurements) {
    text += fmt::format("{}  {}\n", indent, line);
  }
  return text;
}

// Faults that only special numbers show (NaN in hidden slots, overflows, empty rows) are beyond
// nearly every input: people read of the others, programs of all.
bool concerns_people(std::string_view slug) {
  for (const std::string_view family : {"head_map.", "causal.", "window.", "length.", "scale."}) {
    if (slug.starts_with(family)) return true;
  }
  return false;
}

std::vector<std::string> people_read(const std::vector<std::string>& faults) {
  std::vector<std::string> common;
  std::ranges::copy_if(faults, std::back_inserter(common), concerns_people);
  return common;
}

std::vector<std::string> certainly_hidden(const Diagnosis& diagnosis) {
  std::vector<std::string> certain;
  for (const auto& [first, second] : diagnosis.inseparable) {
    if (first == "contract") certain.push_back(second);
  }
  return people_read(certain);
}

std::string inseparable_lines(const Diagnosis& diagnosis, const std::string& indent) {
  std::string text;
  const HiddenFaults& hidden = diagnosis.hidden;
  if (!hidden.imitations.empty()) {
    text += fmt::format("{}these inputs cannot tell the output from {}\n", indent,
                        fmt::join(hidden.imitations, " or "));
  }
  if (const auto faults = certainly_hidden(diagnosis); !faults.empty()) {
    text += fmt::format("{}these inputs cannot show: {}\n", indent, fmt::join(faults, ", "));
  }
  if (const auto faults = people_read(hidden.rows_compared); !faults.empty()) {
    text += fmt::format("{}these inputs do not show, in the {} of {} rows asked: {}\n", indent,
                        hidden.rows, hidden.of, fmt::join(faults, ", "));
  }
  return text;
}

}  // namespace

std::string diagnosis_text(const Diagnosis& diagnosis, const std::string& indent) {
  std::string text;
  std::string tensor;
  for (const Explanation& explanation : diagnosis.explanations) {
    text += explanation_lines(explanation, explanation.tensor != tensor, indent);
    tensor = explanation.tensor;
  }
  text += unexplained_lines(diagnosis, indent);
  for (const std::string& finding : diagnosis.findings) {
    text += fmt::format("{}finding: {}\n", indent, finding);
  }
  return text + inseparable_lines(diagnosis, indent);
}

std::vector<std::string> hidden_from_people(const Diagnosis& diagnosis) {
  std::vector<std::string> faults = certainly_hidden(diagnosis);
  std::ranges::copy(people_read(diagnosis.hidden.rows_compared), std::back_inserter(faults));
  return faults;
}

nlohmann::ordered_json region_json(const Region& region) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  const auto add = [&json](const char* axis, const std::optional<IndexSet>& set) {
    if (!set) return;
    if (set->pattern) {
      const TilePattern& p = *set->pattern;
      json[axis] = {{"tile", p.tile}, {"every", p.every}, {"first", p.first}};
      return;
    }
    json[axis] = nlohmann::ordered_json::array();
    for (const IndexRange& range : set->ranges) json[axis].push_back({range.first, range.last});
  };
  add("batch", region.batch);
  add("heads", region.heads);
  add("rows", region.rows);
  add("keys", region.keys);
  add("columns", region.columns);
  return json;
}

nlohmann::ordered_json diagnosis_json(const Diagnosis& diagnosis) {
  nlohmann::ordered_json json;
  json["status"] = name(diagnosis.status);
  json["explanations"] = nlohmann::ordered_json::array();
  for (const Explanation& explanation : diagnosis.explanations) {
    nlohmann::ordered_json entry;
    for (const char* list : {"faults", "descriptions", "formulas"}) {
      entry[list] = nlohmann::ordered_json::array();
    }
    for (const Fault& fault : explanation.faults) {
      entry["faults"].push_back(fault.kind->slug);
      entry["descriptions"].push_back(fault.describe());
      entry["formulas"].push_back(fault.kind->formula);
    }
    entry["tensor"] = explanation.tensor;
    entry["region"] = region_json(explanation.region);
    entry["sentence"] = explanation.sentence();
    entry["tolerance"] = describe(explanation.tolerance);
    entry["violations"] = 0;
    entry["rows"] = explanation.rows;
    entry["certified_rows"] = explanation.certified_rows;
    json["explanations"].push_back(std::move(entry));
  }
  json["tensors"] = nlohmann::ordered_json::array();
  for (const TensorAccount& account : diagnosis.tensors) {
    json["tensors"].push_back({{"tensor", account.tensor},
                               {"status", name(account.status)},
                               {"sentence", account.sentence}});
  }
  json["inseparable"] = nlohmann::ordered_json::array();
  for (const auto& [first, second] : diagnosis.inseparable) {
    json["inseparable"].push_back({first, second});
  }
  const HiddenFaults& hidden = diagnosis.hidden;
  if (!hidden.imitations.empty()) json["imitations"] = hidden.imitations;
  if (!hidden.rows_compared.empty()) {
    json["not_shown"] = {
        {"rows", hidden.rows}, {"of", hidden.of}, {"faults", hidden.rows_compared}};
  }
  if (!diagnosis.findings.empty()) json["findings"] = diagnosis.findings;
  json["measurements"] = diagnosis.measurements;
  json["candidates"] = diagnosis.candidates;
  return json;
}

}  // namespace gqa
