// The gradients of a recorded backward pass as outputs of an audit.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gqa/audit/decide/audit_result.hpp"
#include "gqa/audit/gradients/gradient_auditor.hpp"
#include "gqa/audit/work/audit_job.hpp"

namespace gqa {

/// Does the recording hold a gradient, or grad_output?
bool has_gradients(const ProblemTensors& tensors);

/// A recorded backward pass, checked and ready to be audited.
///
/// `grad_output` [B, Hq, T, dv] is what it was given; grad_query, grad_key and grad_value are
/// shaped as query, key and value (the new keys; what came from the past is constant), all in the
/// layouts of output, query, key and value.
class GradientAudit {
 public:
  /// Keeps a reference to `problem`, which make_problem made of `tensors`. options.sample does not
  /// concern gradients: each needs all rows.
  ///
  /// Errors: InputError at the tensor's name: "contract.missing_tensor" (grad_output absent), those
  /// of StridedTensor, "contract.shape_rank", "contract.shape_mismatch",
  /// "audit.nothing_to_audit" (no gradient, or one without elements); "gradient.empty_row" at
  /// "grad_output" where a row sees no key and the contract gives its output no gradient (policies
  /// nan, any, mean).
  GradientAudit(const AttentionProblem& problem, const ProblemTensors& tensors,
                const AuditOptions& options, const GradientRule& rule = {});

  const GradientProblem& problem() const { return gradient_; }
  const RecordedGradients& recorded() const { return recorded_; }
  /// The kinds recorded, in the order of gradient_kinds.
  std::vector<GradientKind> kinds() const;
  /// "all of batch 0, KV heads 1 and 2".
  std::string describe_violations(GradientKind kind, const AuditTally& tally) const;
  AuditTally empty_tally(GradientKind kind) const;

  /// Every element of that gradient. A block is one batch entry and KV head; what a block finds
  /// out about other kinds is kept for their turn.
  AuditResult audit(GradientKind kind);

 private:
  struct Kept;
  AuditTally history_tally(GradientKind kind, std::int64_t block);

  const AttentionProblem& problem_;
  GradientProblem gradient_;
  RecordedGradients recorded_;
  AuditOptions options_;
  std::shared_ptr<Kept> kept_;
};

}  // namespace gqa
