// Sets of faults under which recorded outputs would be right.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "gqa/diagnose/explain/region.hpp"
#include "gqa/diagnose/explain/row_match.hpp"
#include "gqa/diagnose/faults/fault.hpp"

namespace gqa {

/// A set of faults under which every compared row of an output tensor is within tolerance.
struct Explanation {
  std::vector<Fault> faults;        ///< in the order of fault_kinds()
  std::int64_t rows = 0;            ///< compared in binary64
  std::int64_t certified_rows = 0;  ///< of those, by enclosures or the certified filter
  std::string tensor = "output";    ///< the output that it speaks of
  Tolerance tolerance = {};         ///< under which it holds
  Region region = {};               ///< where it holds; everywhere else the contract does
  /// Without a fault: where the output is wrong, and how, which is all that is known.
  std::string place_sentence = {};

  /// "head_map.tiled", or several joined by " + ".
  std::string describe() const;
  /// What a kernel author reads: "the scale is applied twice", "grad_key is zero everywhere".
  std::string sentence() const;
  /// Some faults, and nothing in them was measured.
  bool is_of_catalogue() const;
  bool same_slugs(const Explanation& other) const;
};

struct SearchOptions {
  std::size_t largest_set = 3;  ///< at most 3
  std::size_t least_set = 1;
  bool narrow_sums = true;  ///< also sets that hold a sum of few bits
  /// When the search ends with what it has.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
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
