// One slot of a history that holds something else than what is recorded there.
#pragma once

#include <optional>

#include "gqa/diagnose/local/local_evidence.hpp"

namespace gqa {

/// Rows that all see one slot whose key and value are not the recorded ones (a step that was
/// written elsewhere, or not yet), or one slot more than those recorded.
///
/// With A_i the right output of row i without slot j, u the value in the slot and 1 - a_i the
/// weight that row i gives it, o_i = a_i A_i + (1 - a_i) u: u is common to the rows of a history,
/// and a_i a number of each, so that R rows of dv columns determine dv + R unknowns. They are found
/// by alternating least squares for every slot (of one slot more, A_i is the whole right output);
/// the slot is the one that leaves nothing, where all others leave far more. A key that gives these
/// weights is then put beside u, and the whole is confirmed like any explanation.
std::optional<Explanation> unrecorded_slot(const LocalEvidence& evidence);

}  // namespace gqa
