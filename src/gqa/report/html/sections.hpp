// Parts that several pages share.
#pragma once

#include <string>
#include <vector>

#include "gqa/attention/contract.hpp"
#include "gqa/attention/dimensions.hpp"
#include "gqa/attention/operands_present.hpp"
#include "gqa/diagnose/diagnosis.hpp"
#include "gqa/report/html/markup.hpp"

namespace gqa::html {

/// The contract in words, one rule a line.
Markup contract_section(const Contract& contract, const Dimensions& dimensions,
                        const OperandsPresent& operands);

/// Every explanation with the sentence and the wrong formula of each fault, or what could be
/// measured; then what the inputs cannot tell apart, folded under `id`. Empty for nothing.
Markup diagnosis_section(const std::string& id, const Diagnosis& diagnosis);

/// One fault: its name, what it does, its wrong formula.
Markup fault_markup(const Fault& fault);

/// "causal.top_left + window.off_by_one" where faults of the catalogue explain it; "" otherwise.
std::string named_faults(const Diagnosis& diagnosis);

/// What a status says that goes without a name: "where it is wrong is all that is known".
std::string_view meaning_of(DiagnosisStatus status);

}  // namespace gqa::html
