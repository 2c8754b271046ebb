// A tolerance as JSON, so far as every report says it alike.
#pragma once

#include <nlohmann/json.hpp>

#include "gqa/audit/decide/element_decision.hpp"
#include "gqa/audit/decide/tolerance.hpp"

namespace gqa {

/// Stated tolerances; what is said of a model is the report's own.
struct StatedToleranceJson {
  nlohmann::ordered_json operator()(const AbsoluteRelativeTolerance& tolerance) const;
  nlohmann::ordered_json operator()(const UlpTolerance& tolerance) const;
};

/// "worst-case" or "likely": the bound of a model that a pass needs.
const char* accepted_bound(const ModelTolerance& tolerance);

/// "none", "statistical", "proved".
const char* name(FailureStrength strength);

}  // namespace gqa
