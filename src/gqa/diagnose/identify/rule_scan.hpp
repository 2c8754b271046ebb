// Every range of keys tried at once.
#pragma once

#include <span>
#include <vector>

#include "gqa/diagnose/identify/rules.hpp"

namespace gqa::identification {

/// The kinds of ranges that are tried; each but the first two has a number, all of which are tried.
enum class RangeKind {
  all,            ///< every key
  causal,         ///< up to the position
  causal_window,  ///< and not farther back than some keys
  window_left,    ///< not farther back than some keys
  window_right,   ///< up to some keys beyond the position
  window_both,    ///< as many keys on either side
  length,         ///< the first so many keys
  causal_length,  ///< of those, causal from the bottom right
};

/// The best range of one kind and alignment.
struct ScannedRange {
  RangeKind kind = RangeKind::all;
  RangeRule rule;
  double misfit = 1;
};

/// The alignments under which positions of these rows differ, the given one first.
std::vector<CausalAlignment> alignments_of(const SearchRow& row, CausalAlignment first);

/// Of each kind and each of the alignments the range that fits the rows best, under one score rule.
/// With `free_sink` each row is fitted with a sink of its own, whose weight shrinks the row.
/// Misfits are those of a few columns.
///
/// Method: with w_j = exp(score_j) and prefix sums W and V of w_j and w_j v_j, a row that sees the
/// keys [a, b) is (V_b - V_a) / (W_b - W_a). So all of some n ranges cost O(n) together, and not
/// O(n N).
std::vector<ScannedRange> scan_ranges(std::span<const SearchRow> rows, const ScoreRule& score,
                                      std::span<const CausalAlignment> alignments, bool free_sink);

}  // namespace gqa::identification
