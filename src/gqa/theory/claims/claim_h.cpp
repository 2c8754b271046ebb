#include "gqa/exact/enumeration.hpp"
#include "gqa/theory/claims/claims.hpp"

namespace gqa {
namespace {

ClaimVerdict argue_h(Argument& argument, const TrainedModel* /*model*/) {
  const EnumerationResult result = enumerate_cases(12, Engine::gmp);
  argument.require(result.cases == 210 && result.equal == 210, "{} of {} cases are equal",
                   result.equal, result.cases);
  argument.require(result.detected == result.map_differs && result.false_alarms == 0,
                   "{} of {} controls are told apart, {} false alarms", result.detected,
                   result.map_differs, result.false_alarms);
  return ClaimVerdict::checked;
}

}  // namespace

const Claim claim_h{
    .id = "h",
    .title = "expansion",
    .statement = "Grouped attention equals attention over consecutively expanded histories",
    .scope = "Hq = 1..12, every divisor Hkv, six weight families: 210 cases",
    .certificate = "all cases computed in rationals, with the map h mod Hkv as control",
    .argue = argue_h};

}  // namespace gqa
