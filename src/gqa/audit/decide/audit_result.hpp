// What an audit says of one output tensor.
#pragma once

#include <string>
#include <string_view>

#include "gqa/audit/decide/element_decision.hpp"
#include "gqa/audit/decide/tally.hpp"

namespace gqa {

enum class Verdict { pass, fail, undecided, error };
std::string_view name(Verdict verdict);

/// The result for one output tensor.
struct AuditResult {
  Verdict verdict =
      Verdict::undecided;  ///< pass only if every element was within, and that shows something
  FailureStrength strength = FailureStrength::none;
  AuditTally tally;
  std::string where;  ///< where the violations lie, in words; empty without any
  /// Every element is within, and so would be those of a null output (AuditTally::nulls): a pass
  /// under a stated tolerance, undecided under a model.
  bool shows_nothing = false;
};

/// The verdict on a whole output; `where` says where its violations lie. Under a model a pass that
/// a null output would have got as well is undecided; under a stated tolerance that is its owner's
/// choice.
AuditResult result_of(AuditTally&& tally, std::string where, const Tolerance& tolerance);

}  // namespace gqa
