// The name of what is wrong with recorded gradients.
#pragma once

#include "gqa/audit/audit_outputs.hpp"
#include "gqa/diagnose/diagnosis.hpp"

namespace gqa {

/// Explains the gradients that fail among `outputs`, those of every document of `tensors` in turn:
/// every element of each is within the tolerance of the fault's reference, and some element is
/// certainly not within that of the right one. Unexplained unless all of them are explained.
/// Errors: those of cut_documents, make_problem and GradientAudit.
Diagnosis diagnose_gradients(const ProblemTensors& tensors, const Contract& contract,
                             const std::vector<OutputAudit>& outputs, const Tolerance& tolerance);

}  // namespace gqa
