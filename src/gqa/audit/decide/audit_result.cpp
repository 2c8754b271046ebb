#include "gqa/audit/decide/audit_result.hpp"

#include <utility>
#include <variant>

namespace gqa {

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::pass:
      return "pass";
    case Verdict::fail:
      return "fail";
    case Verdict::undecided:
      return "undecided";
    case Verdict::error:
      return "error";
  }
  return "?";
}

AuditResult result_of(AuditTally&& tally, std::string where, const Tolerance& tolerance) {
  AuditResult result{.tally = std::move(tally), .where = std::move(where)};
  const AuditTally& counts = result.tally;
  if (counts.violations > 0) {
    result.verdict = Verdict::fail;
    result.strength =
        counts.proved_violations > 0 ? FailureStrength::proved : FailureStrength::statistical;
  } else if (counts.undecided == 0 && counts.elements > 0) {
    result.shows_nothing = counts.nulls.shows_nothing();
    const bool is_model = std::holds_alternative<ModelTolerance>(tolerance);
    result.verdict = is_model && result.shows_nothing ? Verdict::undecided : Verdict::pass;
  }
  return result;
}

}  // namespace gqa
