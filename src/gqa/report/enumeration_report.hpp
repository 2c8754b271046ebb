// The enumeration, for people and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "gqa/exact/enumeration.hpp"

namespace gqa {

struct EnumerationReport {
  EnumerationResult result;
  std::string engine;  ///< "gmp", "boost"
  double seconds = 0;  ///< wall time
};

/// Counts of cases and controls, every failure, and a last line with the verdict.
std::string enumeration_text(const EnumerationReport& report);

/// "gqaverify.enumerate/1", as docs/json.md states it; "failures" beside.
nlohmann::ordered_json enumeration_json(const EnumerationReport& report);

}  // namespace gqa
