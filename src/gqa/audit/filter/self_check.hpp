// Rows that the filter decided, asked again by enclosures: BLAS and vector code are trusted, but
// for this.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "gqa/attention/attention_problem.hpp"
#include "gqa/audit/filter/filter_tile_result.hpp"
#include "gqa/audit/work/audit_options.hpp"
#include "gqa/num/uncertain.hpp"

namespace gqa {

/// Two rungs contradict each other, which the theory rules out: the BLAS, the processor or its
/// memory computes wrongly, or this program does. No verdict of the audit can be trusted.
class SelfCheckError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The rows that are asked, as numbers (b * Hq + head) * T + row, rising: a random choice, the same
/// of every run, of rows that are audited. Few enough that the check takes under a fiftieth of an
/// audit that takes long: rows of long histories cost more, and of histories that alone would take
/// longer than that none is asked.
std::vector<std::int64_t> self_check_rows(const AttentionProblem& problem,
                                          const AuditOptions& options);

/// What a filter said of the elements of one row: within the tolerance or not; unknown where it
/// left the decision to another rung.
using FilterVerdicts = std::vector<Uncertain>;

/// The contradiction between row `r` of a tile, as the filter has decided it, and enclosures of the
/// same row, in words with both values and the place; nullopt: there is none. Contradictions are
///   - an interval [output - radius, output + radius] of the filter that the enclosure of the exact
///     value misses: every column is asked;
///   - an element that the filter finds within the tolerance and enclosures beyond it, or the
///     reverse: every column is asked of a stated tolerance; of a model, whose bounds cost more
///     than the row, a few of short histories.
/// Precondition: the row is not open and sees a key; `verdicts` has an entry for every column.
std::optional<std::string> find_contradiction(const AttentionProblem& problem,
                                              const AuditOptions& options, const FilterTile& tile,
                                              std::size_t r, std::span<const Uncertain> verdicts);

/// The contradiction with what it means for whoever runs the audit.
std::string self_check_message(const std::string& contradiction);

}  // namespace gqa
