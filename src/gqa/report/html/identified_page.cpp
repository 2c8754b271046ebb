#include <fmt/format.h>

#include <algorithm>

#include "gqa/attention/operands_present.hpp"
#include "gqa/io/contract_json.hpp"
#include "gqa/report/diagnosis_report.hpp"
#include "gqa/report/html/number_text.hpp"
#include "gqa/report/html/page.hpp"
#include "gqa/report/html/pages.hpp"
#include "gqa/report/html/table.hpp"
#include "gqa/report/identified_report.hpp"

namespace gqa {
namespace {

using namespace html;  // NOLINT: the vocabulary of this file

Standing standing_of(const IdentifiedRecording& recording) {
  if (!recording.error.empty()) return Standing::broken;
  const ContractFit fit = recording.found.fit;
  if (fit == ContractFit::declared || fit == ContractFit::found) return Standing::good;
  return recording.found.cut_short ? Standing::open : Standing::bad;
}

const char* word_of(const IdentifiedRecording& recording) {
  if (!recording.error.empty()) return "not read";
  switch (recording.found.fit) {
    case ContractFit::declared:
      return "as declared";
    case ContractFit::found:
      return "found";
    case ContractFit::nearest:
      return "near";
    case ContractFit::none:
      break;
  }
  return "nothing near";
}

Markup flags_of(const IdentifiedRecording& recording) {
  if (!recording.error.empty()) return text(recording.error);
  const std::string flags = recording.found.flags_text();
  if (!flags.empty()) return code(flags);
  return text(recording.found.fit == ContractFit::none ? "\u2013" : "none needed");
}

Markup overview_of(const std::vector<IdentifiedRecording>& recordings) {
  Table table("Every recording with the flags to copy",
              {{"Recording", ColumnKind::name}, {"Contract"}, {"Flags", ColumnKind::prose}});
  for (const IdentifiedRecording& recording : recordings) {
    table.add_row({foreign(file_name(recording.path)),
                   badge(standing_of(recording), word_of(recording)), flags_of(recording)});
  }
  return table.markup();
}

std::string proof_of(const IdentifiedContract& found) {
  const AuditTally& tally = found.audit->result.tally;
  if (tally.violations == 0) {
    return fmt::format("{} audited against {}: {}", counted(tally.elements, "element"),
                       describe(found.audit->tolerance), name(found.audit->result.verdict));
  }
  return fmt::format("{} of {} are off: {}", grouped(tally.violations),
                     counted(tally.elements, "element"), found.audit->result.where);
}

Markup names_of(const std::vector<std::string>& faults) {
  Markup names;
  for (const std::string& fault : faults) {
    names += (names.is_empty() ? Markup() : text(", ")) + code(fault);
  }
  return names;
}

Markup details_of(const IdentifiedRecording& recording) {
  const IdentifiedContract& found = recording.found;
  std::vector<std::pair<std::string, Markup>> pairs{{"File", foreign(recording.path)}};
  if (!recording.error.empty()) {
    pairs.emplace_back("Not read", text(recording.error) + text(" ") + code(recording.error_code));
    return definitions(pairs);
  }
  pairs.emplace_back("Flags", flags_of(recording));
  if (found.audit) pairs.emplace_back("Rests on", text(proof_of(found)));
  for (const std::string& note : found.notes) pairs.emplace_back("Measured", text(note));
  for (const std::string& flags : found.equivalents) {
    pairs.emplace_back("Just as well", flags.empty() ? text("the declared contract") : code(flags));
  }
  const std::vector<std::string> hidden = hidden_from_people(as_diagnosis(found.hidden));
  if (!hidden.empty()) pairs.emplace_back("These inputs cannot show", names_of(hidden));
  if (found.fit != ContractFit::none) {
    pairs.emplace_back("Contract", code(to_json(found.contract).dump()));
  }
  if (found.cut_short) {
    pairs.emplace_back("Not finished", text("the time was up before everything was tried"));
  }
  return definitions(pairs);
}

}  // namespace

std::string identified_html(const std::vector<IdentifiedRecording>& recordings,
                            const PageOrigin& origin) {
  Page page;
  page.origin = origin;
  page.kind = "identify";
  page.footnote = certified_footnote;
  page.title =
      recordings.size() == 1
          ? "The contract of " + file_name(recordings[0].path)
          : fmt::format("The contracts of {}",
                        counted(static_cast<std::int64_t>(recordings.size()), "recording"));
  // The worst is the page's.
  page.standing = recordings.empty() ? Standing::open : Standing::good;
  for (const IdentifiedRecording& recording : recordings) {
    page.standing = std::max(page.standing, standing_of(recording), [](Standing a, Standing b) {
      const auto weight = [](Standing s) {
        return s == Standing::good ? 0 : s == Standing::open ? 1 : s == Standing::bad ? 2 : 3;
      };
      return weight(a) < weight(b);
    });
  }
  const std::int64_t fitting =
      std::ranges::count_if(recordings, [](const IdentifiedRecording& recording) {
        return standing_of(recording) == Standing::good;
      });
  page.verdict = page.standing == Standing::good     ? "A contract fits"
                 : page.standing == Standing::open   ? "Undecided"
                 : page.standing == Standing::broken ? "Not all could be read"
                 : fitting > 0                       ? "Not every one fits"
                                                     : "No contract fits";
  if (recordings.size() == 1) {
    page.summary = element("p", text("Flags to copy: ") + flags_of(recordings[0]));
  } else {
    page.summary =
        paragraph(fmt::format("{} of {} fit a contract.", grouped(fitting),
                              counted(static_cast<std::int64_t>(recordings.size()), "recording")));
    page.sections.push_back({"recordings", "The recordings", overview_of(recordings)});
  }
  for (std::size_t i = 0; i < recordings.size(); ++i) {
    page.sections.push_back({fmt::format("recording-{}", i + 1), file_name(recordings[i].path),
                             details_of(recordings[i])});
  }
  return page_text(page);
}

}  // namespace gqa
