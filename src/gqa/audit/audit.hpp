// The audit: every output element against the certified reference.
#pragma once

#include "gqa/attention/attention_problem.hpp"
#include "gqa/audit/decide/audit_result.hpp"
#include "gqa/audit/work/audit_options.hpp"

namespace gqa {

/// Audits `problem.output` element by element.
///
/// Errors: InputError "contract.missing_tensor" at "output"; "audit.nothing_to_audit"
/// if the output has no element: an empty problem never passes; "audit.sample" at "sample" if
/// the sample has no row; those of the runner.
AuditResult audit(const AttentionProblem& problem, const AuditOptions& options);

}  // namespace gqa
