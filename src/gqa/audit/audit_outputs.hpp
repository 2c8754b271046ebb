// All outputs of a problem, audited.
#pragma once

#include <string>
#include <vector>

#include "gqa/attention/attention_problem.hpp"
#include "gqa/audit/audit.hpp"

namespace gqa {

/// The result for the output of that name.
struct OutputAudit {
  /// output, present_key, present_value, qk_matmul_output, lse, grad_query, grad_key, grad_value
  std::string name;
  AuditResult result;
};

/// Audits `output`, which must be there unless gradients are, and every other output that `tensors`
/// holds, in the order of the names above. `problem` is what make_problem made of `tensors`.
///
/// Errors: those of audit, audit_present, audit_qk_matmul_output, audit_lse and GradientAudit.
std::vector<OutputAudit> audit_outputs(const AttentionProblem& problem,
                                       const ProblemTensors& tensors, const AuditOptions& options);

/// The worst verdict: error, fail, undecided, pass, in this order. Undecided without any.
Verdict worst_verdict(const std::vector<OutputAudit>& outputs);

}  // namespace gqa
