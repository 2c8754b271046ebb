// The contract that an implementation really implements, read off its answers to the probes.
#pragma once

#include <string>
#include <vector>

#include "gqa/diagnose/probes/probe_run.hpp"

namespace gqa {

enum class Agreement {
  agrees,
  differs,
  undetermined,  ///< its probes were refused, crashed, or are not explained
};
std::string_view name(Agreement agreement);

/// One rule of the contract: what was declared and what the implementation does.
struct IdentifiedRule {
  std::string rule;  ///< "head map of K"
  std::string declared;
  std::string found;
  Agreement agreement = Agreement::undetermined;
};

/// Reads the rules off a finished probe report. What is measured straight from an output (the
/// head maps, the visible keys, the scale, empty rows, long sums) says what was seen there; a
/// rule that only scores show is settled by the probes that read it and by the diagnosis.
std::vector<IdentifiedRule> identify(const ProbeReport& report);

}  // namespace gqa
