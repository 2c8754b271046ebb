// The name of what is wrong with recorded gradients.
#pragma once

#include "gqa/audit/audit_outputs.hpp"
#include "gqa/diagnose/diagnosis.hpp"

namespace gqa {

/// Explains the gradients that fail among `outputs`, those of every document of `tensors` in turn,
/// each by what it holds everywhere, by one of the gradients' own rules (explaining_rules) or by a
/// rule of the backward pass (BackwardSearch): under that, every element is within the tolerance,
/// or roughly within it, in every document. Errors: those of cut_documents, make_problem and
/// GradientAudit.
Diagnosis diagnose_gradients(const ProblemTensors& tensors, const Contract& contract,
                             const std::vector<OutputAudit>& outputs, const Tolerance& tolerance);

}  // namespace gqa
