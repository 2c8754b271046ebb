#include "gqa/audit/audit_outputs.hpp"

#include <algorithm>
#include <array>

#include "gqa/audit/gradients/gradient_audit.hpp"
#include "gqa/audit/outputs/present_audit.hpp"
#include "gqa/audit/outputs/score_audit.hpp"

namespace gqa {

std::vector<OutputTask> forward_tasks(const AttentionProblem& problem,
                                      const ProblemTensors& tensors) {
  std::vector<OutputTask> tasks;
  // A recording of a backward pass alone is an audit too.
  if (problem.output || !has_gradients(tensors)) {
    tasks.push_back({"output", true,
                     [&problem](const AuditOptions& options) { return audit(problem, options); }});
  }
  if (tensors.present_key) {
    tasks.push_back({"present_key", false, [&problem, &tensors](const AuditOptions&) {
                       return audit_present(problem.key, tensors.present_key, "present_key");
                     }});
  }
  if (tensors.present_value) {
    tasks.push_back({"present_value", false, [&problem, &tensors](const AuditOptions&) {
                       return audit_present(problem.value, tensors.present_value, "present_value");
                     }});
  }
  if (tensors.qk_matmul_output) {
    tasks.push_back({"qk_matmul_output", true, [&problem, &tensors](const AuditOptions& options) {
                       return audit_qk_matmul_output(problem, tensors.qk_matmul_output,
                                                     tensors.qk_matmul_output_mode, options);
                     }});
  }
  if (tensors.lse) {
    tasks.push_back({"lse", true, [&problem, &tensors](const AuditOptions& options) {
                       return audit_lse(problem, tensors.lse, options);
                     }});
  }
  return tasks;
}

std::vector<OutputAudit> audit_outputs(const AttentionProblem& problem,
                                       const ProblemTensors& tensors, const AuditOptions& options) {
  std::vector<OutputAudit> outputs;
  for (const OutputTask& task : forward_tasks(problem, tensors)) {
    outputs.push_back({task.name, task.audit(options), options.tolerance});
  }
  if (!has_gradients(tensors)) return outputs;
  GradientAudit gradients(problem, tensors, options);
  for (const GradientKind kind : gradients.kinds()) {
    outputs.push_back({std::string(name(kind)), gradients.audit(kind), options.tolerance});
  }
  return outputs;
}

Verdict worst_verdict(const std::vector<OutputAudit>& outputs) {
  constexpr std::array order{Verdict::error, Verdict::fail, Verdict::undecided};
  for (const Verdict verdict : order) {
    if (std::ranges::any_of(outputs, [verdict](const OutputAudit& output) {
          return output.result.verdict == verdict;
        })) {
      return verdict;
    }
  }
  return outputs.empty() ? Verdict::undecided : Verdict::pass;
}

}  // namespace gqa
