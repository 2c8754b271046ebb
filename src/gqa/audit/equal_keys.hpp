// Keys that are equal round alike: what independent roundings make likely is too little for them.
#pragma once

#include <cstdint>

#include "gqa/attention/attention_problem.hpp"
#include "gqa/audit/decide/audit_result.hpp"

namespace gqa {

/// The largest number of equal keys in one history, of those that some row may see by causality,
/// window and lengths; 1 if all differ, 0 without keys.
std::int64_t most_equal_keys(const AttentionProblem& problem);

/// Takes back what is no failure where c keys are equal.
///
/// The likely bound adds the errors of different keys in the mean square. Those of c equal keys are
/// equal, and (sum of c numbers)^2 <= c (sum of their squares): the bound is too small by a factor
/// of sqrt(c) at most. Where no violation of a model is certainly beyond that, or proved, the
/// result is undecided, and AuditResult::equal_keys is c. Not of gradients, whose bound counts
/// equal keys.
void excuse_equal_keys(const AttentionProblem& problem, const Tolerance& tolerance,
                       AuditResult& result);

}  // namespace gqa
