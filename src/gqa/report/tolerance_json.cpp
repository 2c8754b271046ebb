#include "gqa/report/tolerance_json.hpp"

namespace gqa {

nlohmann::ordered_json StatedToleranceJson::operator()(const AbsoluteRelativeTolerance& t) const {
  return {
      {"kind", "absolute_relative"}, {"atol", to_text(t.absolute)}, {"rtol", to_text(t.relative)}};
}

nlohmann::ordered_json StatedToleranceJson::operator()(const UlpTolerance& t) const {
  return {{"kind", "ulp"}, {"max_ulp", to_text(t.ulps)}};
}

const char* accepted_bound(const ModelTolerance& t) {
  return t.accept_worst_case ? "worst-case" : "likely";
}

const char* name(FailureStrength strength) {
  switch (strength) {
    case FailureStrength::none:
      return "none";
    case FailureStrength::statistical:
      return "statistical";
    case FailureStrength::proved:
      return "proved";
  }
  return "?";
}

}  // namespace gqa
