// The names that a report can print (named_kinds), for people and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "gqa/diagnose/faults/fault.hpp"

namespace gqa {

/// One line for each kind: slug, sentence.
std::string fault_list(std::span<const FaultKind* const> kinds);

/// All of each kind: sentence, wrong formula, parameters, and the smallest probe that shows it with
/// the right and the wrong output; of one that is read off the data, what is in parentheses.
std::string fault_text(std::span<const FaultKind* const> kinds);

/// The same as a page in Markdown, a section for each family.
std::string fault_markdown(std::span<const FaultKind* const> kinds);

/// "gqaverify.faults/1".
nlohmann::ordered_json faults_json(std::span<const FaultKind* const> kinds);

}  // namespace gqa
