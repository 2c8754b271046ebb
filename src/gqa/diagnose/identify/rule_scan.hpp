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
  band,           ///< more numbers than one: of scan_bands
};

RangeKind kind_of(const RangeRule& rule);
/// Is it one of the kinds that have one number at most?
inline bool is_simple(const RangeRule& rule) {
  return kind_of(rule) != RangeKind::band;
}

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
/// Method: RowSums, so that all of some n ranges cost O(n) together, and not O(n N).
std::vector<ScannedRange> scan_ranges(std::span<const SearchRow> rows, const ScoreRule& score,
                                      std::span<const CausalAlignment> alignments, bool free_sink);

/// Do weights depend on the length, through ALiBi's positions, as scan_ranges does not see? Not
/// where trying all would cost too much.
bool lengths_move_weights(std::span<const SearchRow> rows, const ScoreRule& score);

/// The length under which the rest of a rule fits the rows best, and its misfit.
ScannedRange scan_lengths(std::span<const SearchRow> rows, const ScoreRule& score, RangeRule rule,
                          bool free_sink);

}  // namespace gqa::identification
