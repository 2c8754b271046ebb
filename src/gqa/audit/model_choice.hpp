// Which precision model explains an output, where none is named.
#pragma once

#include <span>
#include <vector>

#include "gqa/attention/typed_tensor.hpp"
#include "gqa/audit/audit.hpp"
#include "gqa/audit/audit_outputs.hpp"

namespace gqa {

/// The presets that fit the element types of query, key, value and output, from tight to
/// loose; never empty. A type's presets are those that compute in it or store in it, with sums in
/// binary32 or better: binary64: f64; binary32: f32; binary16: f16-f32, f16-stored; bfloat16:
/// bf16-f32, bf16-stored; float8: f32, bf16-f32 and fp8-weights, the output rounded to its format.
/// Of several types, those of all: binary32 from binary16 operands may come from any of f32,
/// f16-f32 and f16-stored.
///
/// Sums in 16 bits are never assumed: from some 250 keys on their bound exceeds the output itself.
std::vector<const PrecisionModel*> candidate_models(std::span<const ElementType> types);
std::vector<const PrecisionModel*> candidate_models(const AttentionProblem& problem);
/// The same, with the types of recorded gradients among them.
std::vector<const PrecisionModel*> candidate_models(const AttentionProblem& problem,
                                                    const ProblemTensors& tensors);

/// The presets that are in use for these types, but only where somebody decided so: products of
/// binary32 tensors in a narrower format, 8-bit weights, sums in 16 bits. From tight to loose.
std::vector<const PrecisionModel*> undeclared_models(std::span<const ElementType> types);

/// Audits every output under one candidate after the other until it passes; each output has the
/// verdict and the model of its own. An output that does not pass keeps the verdict of the tightest
/// candidate, `proved` only if it is under each; then it is judged once more by what nobody
/// declared (OutputAudit::explained_by), which changes no verdict and is left out without the
/// filter. A candidate under which a null output passes replaces nothing. `options.tolerance` is
/// ignored. Errors: those of audit_outputs().
std::vector<OutputAudit> audit_with_candidates(const AttentionProblem& problem,
                                               const ProblemTensors& tensors,
                                               const AuditOptions& options,
                                               bool accept_worst_case = false);

}  // namespace gqa
