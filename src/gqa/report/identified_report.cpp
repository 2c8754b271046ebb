#include "gqa/report/identified_report.hpp"

#include <fmt/format.h>

#include "gqa/attention/operands_present.hpp"
#include "gqa/io/contract_json.hpp"
#include "gqa/report/diagnosis_report.hpp"
#include "gqa/report/verdict_words.hpp"

namespace gqa {
namespace {

std::string flags_or_none(const IdentifiedContract& found) {
  return found.flags.empty() ? std::string("the declared contract") : found.flags_text();
}

// What remains under a contract that is only near.
std::string remains(const OutputAudit& audit) {
  const AuditTally& tally = audit.result.tally;
  if (tally.violations == 0) return std::string(name(audit.result.verdict));
  return fmt::format("{} of {} {} off: {}", tally.violations,
                     counted_words(tally.elements, "element"), tally.violations == 1 ? "is" : "are",
                     audit.result.where);
}

std::string proof(const OutputAudit& audit) {
  const std::int64_t elements = audit.result.tally.elements;
  return fmt::format("{} pass{} against {}", counted_words(elements, "element"),
                     elements == 1 ? "es" : "", describe(audit.tolerance));
}

std::string equivalents_text(const IdentifiedContract& found) {
  std::string text;
  for (const std::string& flags : found.equivalents) {
    text += fmt::format("    these inputs cannot tell it from: {}\n",
                        flags.empty() ? "the declared contract" : flags);
  }
  return text;
}

// The headline and what it rests on.
std::string answer_text(const IdentifiedContract& found) {
  switch (found.fit) {
    case ContractFit::declared:
      return fmt::format("    the declared contract: {}\n", proof(*found.audit));
    case ContractFit::found:
      return fmt::format("    fits: {}\n    {}\n", flags_or_none(found), proof(*found.audit));
    case ContractFit::nearest:
      return fmt::format("    no contract fits; nearest: {}\n    there {}\n", flags_or_none(found),
                         remains(*found.audit));
    case ContractFit::none:
      break;
  }
  return "    no contract comes near\n";
}

}  // namespace

Diagnosis as_diagnosis(const HiddenFaults& hidden) {
  Diagnosis diagnosis;
  diagnosis.hidden = hidden;
  for (const std::string& fault : hidden.certain) {
    diagnosis.inseparable.emplace_back("contract", fault);
  }
  return diagnosis;
}

std::string fit_line(const IdentifiedContract& found) {
  if (found.fit == ContractFit::found) {
    std::string line = fmt::format("fits with {}", flags_or_none(found));
    for (const std::string& flags : found.equivalents) line += fmt::format(", or with {}", flags);
    return line;
  }
  if (found.fit == ContractFit::nearest && !found.flags.empty()) {
    return fmt::format("nearest with {}: {}", found.flags_text(), remains(*found.audit));
  }
  return "";
}

std::string identified_text(const IdentifiedRecording& recording) {
  const IdentifiedContract& found = recording.found;
  if (!recording.error.empty()) {
    return fmt::format("error     {}\n    {} [{}]\n", recording.path, recording.error,
                       recording.error_code);
  }
  std::string text = fmt::format("{:<10}{}\n", name(found.fit), recording.path);
  text += answer_text(found);
  if (found.fit == ContractFit::none) return text;
  for (const std::string& note : found.notes) text += fmt::format("    {}\n", note);
  text += equivalents_text(found);
  text += diagnosis_text(as_diagnosis(found.hidden), "    ");
  text += fmt::format("    contract: {}\n", to_json(found.contract).dump());
  if (found.cut_short) text += "    the time was up before everything was tried\n";
  return text;
}

nlohmann::ordered_json identified_json(const IdentifiedContract& found) {
  nlohmann::ordered_json json;
  json["fit"] = name(found.fit);
  json["flags"] = found.flags_text();
  if (found.fit != ContractFit::none) json["contract"] = to_json(found.contract);
  if (!found.added.is_empty()) {
    nlohmann::ordered_json& operands = json["operands"];
    if (found.added.lengths) operands["nonpad_kv_seqlen"] = *found.added.lengths;
    if (found.added.sink) operands["sink"] = *found.added.sink;
    if (found.added.alibi_slopes && found.added.alibi_slopes->empty()) {
      operands["alibi_slopes"] = "standard";
    } else if (found.added.alibi_slopes) {
      operands["alibi_slopes"] = *found.added.alibi_slopes;
    }
  }
  json["measured"] = found.notes;
  json["equivalents"] = found.equivalents;
  json["cannot_show"] = found.hidden.certain;
  if (!found.hidden.imitations.empty()) json["imitations"] = found.hidden.imitations;
  if (found.audit) {
    const AuditTally& tally = found.audit->result.tally;
    json["audit"] = {{"verdict", name(found.audit->result.verdict)},
                     {"tolerance", describe(found.audit->tolerance)},
                     {"elements", tally.elements},
                     {"violations", tally.violations},
                     {"where", found.audit->result.where}};
  }
  json["candidates"] = found.candidates;
  json["cut_short"] = found.cut_short;
  return json;
}

nlohmann::ordered_json identified_json(const IdentifiedRecording& recording) {
  nlohmann::ordered_json json{{"path", recording.path}};
  if (!recording.error.empty()) {
    json["message"] = recording.error;
    json["code"] = recording.error_code;
    return json;
  }
  json.update(identified_json(recording.found));
  return json;
}

}  // namespace gqa
