// All outputs of a problem, audited.
#pragma once

#include <functional>
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
  /// What it was judged by. Where models were chosen, each output has its own: the tightest that
  /// lets it pass, or else the tightest of all; `tried` lists all that were asked.
  Tolerance tolerance = {};
  /// Of an output that fails under every model for its types: a model that nobody declared and that
  /// would explain it; nullptr: none.
  const PrecisionModel* explained_by = nullptr;
};

/// The audit of one forward output, ready to be run under any options.
struct OutputTask {
  std::string name;
  bool is_rounded = true;  ///< false: a copy, right to the bit under any tolerance
  std::function<AuditResult(const AuditOptions&)> audit;
};

/// Of `output`, which must be there unless gradients are, and of every other forward output that
/// `tensors` holds, in the order of the names above. Keeps references to both arguments.
std::vector<OutputTask> forward_tasks(const AttentionProblem& problem,
                                      const ProblemTensors& tensors);

/// Audits `output`, which must be there unless gradients are, and every other output that `tensors`
/// holds, in the order of the names above. `problem` is what make_problem made of `tensors`.
///
/// Errors: those of audit, audit_present, audit_qk_matmul_output, audit_lse and GradientAudit.
std::vector<OutputAudit> audit_outputs(const AttentionProblem& problem,
                                       const ProblemTensors& tensors, const AuditOptions& options);

/// The worst verdict: error, fail, undecided, pass, in this order. Undecided without any.
Verdict worst_verdict(const std::vector<OutputAudit>& outputs);

}  // namespace gqa
