// Which smallest sets of faults explain recorded outputs.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "gqa/diagnose/fault.hpp"
#include "gqa/diagnose/row_match.hpp"

namespace gqa {

/// A set of faults under which every compared row of an output tensor is within tolerance.
struct Explanation {
  std::vector<Fault> faults;        ///< in the order of fault_kinds()
  std::int64_t rows = 0;            ///< compared in binary64
  std::int64_t certified_rows = 0;  ///< of those, decided by enclosures
  std::string tensor = "output";    ///< the output that it speaks of
  Tolerance tolerance = {};         ///< under which it holds

  /// "head_map.tiled", or several joined by " + ".
  std::string describe() const;
  /// What a kernel author reads: "the scale is applied twice", "grad_key is zero everywhere".
  std::string sentence() const;
  /// Nothing in it was measured.
  bool is_of_catalogue() const;
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
  /// Multiplications at most for one row of each set of one size: some ten seconds of one core. A
  /// few hundred sets are tried all the same.
  std::int64_t largest_work = 200'000'000;
};

/// What the search found.
struct SearchResult {
  std::vector<Explanation> explanations;  ///< all of the smallest size; empty: none
  std::int64_t candidates = 0;            ///< sets tried
  bool cut_short = false;                 ///< largest_candidates was reached
  bool said_nothing = false;  ///< some set fitted every row but refuted nothing (Refutation)
};

/// Faults measured from the data of the cases, under the tolerance that they have.
using Measurement = std::function<std::vector<Fault>(std::span<const DiagnosisCase>)>;

/// The smallest sets of at most `largest_set` faults under which all rows of all cases match, each
/// set with one parameter per fault, and which say something (Refutation). One fault under any of
/// the `tolerances`, tight to loose, comes before two under a tighter one; sets with a sum of few
/// bits come last of all, since that is a precision, too. What is measured is tried like the
/// catalogue. Where a set fits under a stated tolerance and says nothing, the tolerance is as wide
/// as the outputs, and larger sets are not tried. Of several explanations those are left out that
/// fit the data far worse than another.
///
/// The tolerances of the cases themselves are not read. The declared contract must be refuted by
/// some row.
SearchResult search_explanations(std::span<const DiagnosisCase> cases,
                                 std::span<const Tolerance> tolerances, const Measurement& measure,
                                 const SearchOptions& options = {});

/// The behaviour after all edits; a fault that does not apply leaves it as it is.
Behaviour edited(const Behaviour& declared, std::span<const Fault> faults);

/// The cases with another tolerance.
std::vector<DiagnosisCase> under_tolerance(std::span<const DiagnosisCase> cases,
                                           const Tolerance& tolerance);

/// Places of rows to compare: all, or `limit` spread over batches, heads and rows.
std::vector<RowPlace> places_of(const Behaviour& behaviour, std::int64_t limit);

/// At most `count` (two or more) of the places, the first and the last among them.
std::vector<RowPlace> spread_out(const std::vector<RowPlace>& places, std::size_t count);

}  // namespace gqa
