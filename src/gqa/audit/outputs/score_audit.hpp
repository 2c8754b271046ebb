// Audits of qk_matmul_output and of lse.
#pragma once

#include <memory>

#include "gqa/attention/attention_problem.hpp"
#include "gqa/audit/decide/audit_result.hpp"
#include "gqa/audit/work/audit_job.hpp"

namespace gqa {

/// Audits `recorded` [B, Hq, T, P + S], always in this order of axes, against
/// - mode 0: scale <query, key>;
/// - mode 1: that after softcap;
/// - mode 2: that after mask and bias; minus infinity where a key is not visible;
/// - mode 3: the weights; zero where a key is not visible; a row without a visible key holds
///   what the empty-row policy says of its weights (zero, NaN, all equal, anything).
///
/// Modes 0 and 1 know no visibility: every pair of a row and a key has its score. Where an
/// invisible key (or the query of an invisible pair) is not finite, any bits are right.
///
/// Errors: InputError at "qk_matmul_output": "contract.shape_rank",
/// "contract.shape_mismatch", "contract.element_type", "audit.nothing_to_audit";
/// "contract.mode" if the mode is none of these.
/// Source: ONNX Attention, attribute qk_matmul_output_mode, and its reference implementation
/// (onnx/reference/ops/op_attention.py) since opset 24's correction; before, 1 and 2 were
/// confused there.
AuditResult audit_qk_matmul_output(const AttentionProblem& problem,
                                   const std::shared_ptr<const TypedTensor>& recorded, int mode,
                                   const AuditOptions& options);

/// Audits `recorded` [B, Hq, T] against ln(sum over visible keys of exp(s) + exp(sink)), or log2 of
/// it as Contract::lse.base says; a row without a visible key and without a sink holds the infinity
/// of Contract::lse.empty.
///
/// Errors: as audit_qk_matmul_output, at "lse"; a shape [B, T, Hq] is told to be one.
AuditResult audit_lse(const AttentionProblem& problem,
                      const std::shared_ptr<const TypedTensor>& recorded,
                      const AuditOptions& options);

}  // namespace gqa
