// The name of what is wrong with recorded gradients.
#pragma once

#include "gqa/audit/audit_outputs.hpp"
#include "gqa/diagnose/diagnosis.hpp"

namespace gqa {

/// What gradients may be instead of the right ones; none is an edit of a behaviour.
extern const FaultKind gradient_not_summed;     ///< one query head's part of a shared head's
extern const FaultKind gradient_averaged;       ///< the mean over the group for the sum
extern const FaultKind gradient_scale_missing;  ///< without the scale of the scores
extern const FaultKind gradient_negated;        ///< the other sign

/// Explains the gradients that fail among `outputs`, those of every document of `tensors` in turn:
/// every element of each is within the tolerance of the fault's reference, and some element is
/// certainly not within that of the right one. Unexplained unless all of them are explained.
/// Errors: those of cut_documents, make_problem and GradientAudit.
Diagnosis diagnose_gradients(const ProblemTensors& tensors, const Contract& contract,
                             const std::vector<OutputAudit>& outputs, const Tolerance& tolerance);

}  // namespace gqa
