// Reports on probes and on identified contracts.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gqa/diagnose/probes/identify.hpp"

namespace gqa {

/// One line per probe that did not pass, what was left out, and the diagnosis.
std::string probe_text(const ProbeReport& report);
/// "gqaverify.probe/1".
nlohmann::ordered_json probe_json(const ProbeReport& report);

/// The table declared against found, and the diagnosis.
std::string identify_text(const ProbeReport& report, const std::vector<IdentifiedRule>& rules);
/// "gqaverify.identify/1".
nlohmann::ordered_json identify_json(const ProbeReport& report,
                                     const std::vector<IdentifiedRule>& rules);

}  // namespace gqa
