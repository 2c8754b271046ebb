// Is what exceeds a stated tolerance only rounding?
#pragma once

#include <optional>
#include <vector>

#include "gqa/audit/audit_outputs.hpp"
#include "gqa/diagnose/diagnosis.hpp"

namespace gqa {

/// Under a stated tolerance, the tightest of the precision models of the recording's types under
/// which every output passes and under which zeros would not pass for `output`: status `rounding`,
/// with the model as the diagnosis' tolerance. nullopt: none does, or the tolerance is a model's.
/// Errors: those of cut_documents, make_problem and audit_outputs.
std::optional<Diagnosis> diagnose_rounding(const ProblemTensors& tensors, const Contract& contract,
                                           const std::vector<OutputAudit>& outputs,
                                           const Tolerance& tolerance);

}  // namespace gqa
