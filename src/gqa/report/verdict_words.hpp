// The words of a verdict: what was shown, what is wrong with an element, how sure that is.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "gqa/audit/audit_outputs.hpp"

namespace gqa {

/// Three figures, never less than the value: "0.497", "1.3e+06".
std::string rounded_up(double value);
/// Three figures, never more than the value.
std::string rounded_down(double value);

/// "1 violation", "240 violations".
std::string counted_words(std::int64_t count, std::string_view noun);

/// Where an element of the output of that name is: "batch 0, head 4, row 9, column 1"; KV heads and
/// keys where the output has those.
std::string place_text(std::string_view output, const std::array<std::int64_t, 4>& index);

/// "batch 0, head 4, row 9, column 1: got -0.3915, exact -0.000431, off by 0.392, allowed 5.1e-07".
/// The error and what is allowed are certified, both rounded up.
std::string element_text(std::string_view output, const WorstElement& element);

/// How sure a failure is: "proved: beyond the worst case of f32", "beyond what the rounding of
/// bf16-f32 makes likely", "certainly beyond the stated tolerance".
std::string strength_text(FailureStrength strength, const Tolerance& tolerance);

/// The largest share of its allowance that an element takes: "6 % of what is allowed"; empty
/// without such a share.
std::string share_text(const AuditTally& tally);

/// What a pass has shown: "zeros and the doubled output would fail in 512 of 512 rows, ...". Empty
/// without a row whose exact value is not zero.
std::string shown_text(const AuditTally& tally);

/// Why a pass shows nothing, or less than it could: a finding under a stated tolerance, and for the
/// halved output; the reason of the verdict where a model's pass would be empty. Empty otherwise.
std::string nothing_shown_text(const OutputAudit& output);

/// Which arithmetic that nobody declared would explain a failure; empty without any.
std::string undeclared_text(const OutputAudit& output);

}  // namespace gqa
