// Which precision model explains an output, where none is named.
#pragma once

#include <span>
#include <vector>

#include "gqa/attention/typed_tensor.hpp"
#include "gqa/audit/audit.hpp"
#include "gqa/audit/audit_outputs.hpp"

namespace gqa {

/// The presets that fit the element types of query, key, value and output, from tight to
/// loose; never empty. A type's presets are those that compute in it or store in it:
/// binary64: f64; binary32: f32; binary16: f16-f32, f16; bfloat16: bf16-f32, bf16. Of several
/// types, those of all: binary32 from binary16 operands may come from any of f32, f16-f32 and
/// f16. float8 has none of its own, and alone counts as f32 inside, its output rounded to
/// float8.
std::vector<const PrecisionModel*> candidate_models(std::span<const ElementType> types);
std::vector<const PrecisionModel*> candidate_models(const AttentionProblem& problem);
/// The same, with the types of recorded gradients among them.
std::vector<const PrecisionModel*> candidate_models(const AttentionProblem& problem,
                                                    const ProblemTensors& tensors);

/// What the tight models did not explain and the last one tried did, or not even that.
struct ModelChoice {
  ModelTolerance tolerance;          ///< the last model tried; `tried` lists all, in order
  std::vector<OutputAudit> outputs;  ///< under that model; the first is `output` if it is there
};

/// Audits all outputs under one candidate after the other until all of them pass. A result
/// that is not a pass is that of the loosest candidate, except that the search ends where wrong
/// rules explain whatever fails (wrong_rules_explain). `options.tolerance` is ignored.
/// Errors: those of audit_outputs().
ModelChoice audit_with_candidates(const AttentionProblem& problem, const ProblemTensors& tensors,
                                  AuditOptions options, bool accept_worst_case = false);

}  // namespace gqa
