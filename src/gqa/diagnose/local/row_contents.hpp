// What wrong rows hold instead, found without evaluating anything.
#pragma once

#include <optional>

#include "gqa/diagnose/local/local_evidence.hpp"

namespace gqa {

/// Every wrong row holds zero, NaN or one other number, in the same columns; or, to the bit, what
/// is recorded at another place, as many rows, heads or batch entries away; or in some columns what
/// it holds in others. Asked of every wrong row: nothing is left to confirm.
std::optional<Explanation> content_of_rows(const LocalEvidence& evidence);

}  // namespace gqa
