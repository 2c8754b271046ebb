// Reports on contracts that recordings fit.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gqa/diagnose/identify/identified_contract.hpp"

namespace gqa {

/// One recording with the contract that it fits, or why it could not be searched.
struct IdentifiedRecording {
  std::string path;
  IdentifiedContract found;
  std::string error = {};  ///< of a recording that could not be read
  std::string error_code = {};
};

/// A diagnosis of a pass that leaves those faults open, for what is told of every pass.
Diagnosis as_diagnosis(const HiddenFaults& hidden);

/// What `audit` says of it below a failure: "fits with --causal --scale 0.1"; empty where nothing
/// fits.
std::string fit_line(const IdentifiedContract& found);

/// The answer, the flags to copy, what was measured and what cannot be told apart.
std::string identified_text(const IdentifiedRecording& recording);

/// The answer with the contract and the operands that it needs.
nlohmann::ordered_json identified_json(const IdentifiedContract& found);
nlohmann::ordered_json identified_json(const IdentifiedRecording& recording);

}  // namespace gqa
