// The diagnosis of one audited recording, all its outputs together.
#pragma once

#include <vector>

#include "gqa/audit/audit_outputs.hpp"
#include "gqa/diagnose/diagnosis.hpp"

namespace gqa {

/// Names what is wrong with a recording whose outputs were audited, each tensor that fails with an
/// explanation of its own, or none; for one that passed, says what its inputs cannot show. Under a
/// stated tolerance rounding is asked first: a precision model that explains everything. Packed
/// recordings come uncut, with the outputs of every document.
///
/// `tolerance` is what the audit used; where it chose a model by itself, the models it tried are
/// tried here too, from tight to loose.
/// Errors: those of make_diagnosis_case.
Diagnosis diagnose_recording(const ProblemTensors& tensors, const Contract& contract,
                             const std::vector<OutputAudit>& outputs, const Tolerance& tolerance,
                             const SearchOptions& options = {});

}  // namespace gqa
