// Which smallest sets of faults explain recorded outputs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gqa/diagnose/fault.hpp"
#include "gqa/diagnose/row_match.hpp"

namespace gqa {

/// A set of faults under which every compared row is within tolerance.
struct Explanation {
  std::vector<Fault> faults;        ///< in the order of fault_kinds()
  std::int64_t rows = 0;            ///< compared in binary64
  std::int64_t certified_rows = 0;  ///< of those, decided by enclosures

  /// "head_map.tiled", or several joined by " + ".
  std::string describe() const;
  bool same_slugs(const Explanation& other) const;
};

struct SearchOptions {
  std::size_t largest_set = 3;  ///< at most 3
  /// Keys of rows to compare at most, over all cases; beyond, a spread choice of rows.
  std::int64_t largest_compared_keys = 4'000'000;
  /// Visible keys that may be enclosed at most for the proof of one explanation.
  std::int64_t largest_enclosed_keys = 20000;
  /// Candidate sets to try at most at one size.
  std::int64_t largest_candidates = 200000;
};

/// What the search found.
struct SearchResult {
  std::vector<Explanation> explanations;  ///< all of the smallest size; empty: none
  std::int64_t candidates = 0;            ///< sets tried
  bool cut_short = false;                 ///< largest_candidates was reached
};

/// The smallest sets of at most `largest_set` faults under which all rows of all cases match,
/// each set with one parameter per fault. `extra` faults, measured from the data, are tried
/// like those of the catalogue. The declared contract must be refuted by some row.
SearchResult search_explanations(std::span<const DiagnosisCase> cases, std::span<const Fault> extra,
                                 const SearchOptions& options = {});

/// The behaviour after all edits; a fault that does not apply leaves it as it is.
Behaviour edited(const Behaviour& declared, std::span<const Fault> faults);

/// Places of rows to compare: all, or `limit` spread over batches, heads and rows.
std::vector<RowPlace> places_of(const Behaviour& behaviour, std::int64_t limit);

}  // namespace gqa
