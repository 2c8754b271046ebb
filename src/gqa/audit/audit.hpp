// The audit: every output element against the certified reference.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "gqa/attention/attention_problem.hpp"
#include "gqa/audit/tally.hpp"
#include "gqa/audit/tolerance.hpp"

namespace gqa {

enum class Verdict { pass, fail, undecided, error };
std::string_view name(Verdict verdict);

struct AuditOptions {
  Tolerance tolerance;
  /// False: enclosures alone (rungs 2 and 3). The verdicts are the same, only slower.
  bool use_filter = true;
  long first_precision = 128;     ///< bits of the first enclosure
  long largest_precision = 8192;  ///< bits beyond which an element stays undecided
  /// Called with the number of rows finished, one call at a time, from any thread.
  std::function<void(std::int64_t)> progress;
};

/// The result for one output tensor.
struct AuditResult {
  Verdict verdict = Verdict::undecided;  ///< pass only if every element was within
  FailureStrength strength = FailureStrength::none;
  AuditTally tally;
  std::string where;  ///< where the violations lie, in words; empty without any
};

/// Audits `problem.output` element by element.
///
/// Errors: InputError "contract.missing_tensor" at "output"; "audit.nothing_to_audit"
/// if the output has no element: an empty problem never passes.
AuditResult audit(const AttentionProblem& problem, const AuditOptions& options);

/// Where violations lie: "all of batch 0, query heads 1 and 2", with rows and columns
/// where those are few.
std::string describe_violations(const AuditTally& tally, const Dimensions& dimensions);

}  // namespace gqa
