// Ranges with several numbers: windows with two sides, and windows in a history that is shorter
// than the recording.
#pragma once

#include <span>
#include <vector>

#include "gqa/diagnose/identify/rule_scan.hpp"

namespace gqa::identification {

/// The rules whose keys are the band that fits the rows best: row i sees the keys j < length with
/// lowest <= j - i <= highest, each bound there or not.
///
/// Method: one bound after the other, all of its values under the others as they stand (RowSums),
/// until none gets better. A band is then said in a contract's words, by each alignment, and by
/// lengths from which the positions count; those that need no more than scan_ranges tries are left
/// out.
std::vector<ScannedRange> scan_bands(std::span<const SearchRow> rows, const ScoreRule& score,
                                     std::span<const CausalAlignment> alignments, bool free_sink);

}  // namespace gqa::identification
