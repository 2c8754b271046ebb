// A range of visible keys of which one end is right.
#pragma once

#include <vector>

#include "gqa/diagnose/explain/row_match.hpp"
#include "gqa/diagnose/faults/fault.hpp"

namespace gqa {

/// The causal diagonal, or an end of the window, where the rows see keys up to (or from) another
/// distance than the declared one, while the other end is as declared: "causal.diagonal (keys up
/// to p+2)" of position p. Each end is read off some of the wrong rows, at the cost of one
/// evaluation of each.
std::vector<Fault> moved_range_ends(const DiagnosisCase& problem,
                                    const std::vector<RowPlace>& wrong);

}  // namespace gqa
