// How an output is audited.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "gqa/audit/decide/tolerance.hpp"
#include "gqa/audit/work/block_job.hpp"
#include "gqa/audit/work/row_selection.hpp"

namespace gqa {

struct AuditedElement;

struct AuditOptions {
  Tolerance tolerance;
  /// False: enclosures alone (rungs 2 and 3). The verdicts are the same, only slower.
  bool use_filter = true;
  /// Ask a few rows that the filter decided again by enclosures (SelfCheckError).
  bool self_check = true;
  /// Ask the worst violations again by enclosures: are they beyond the worst case (proved)? Not
  /// needed where nothing but the verdict is used.
  bool prove_violations = true;
  /// Ask every element; false: once a violation is certain, nothing more of its tile is asked, and
  /// only the verdict is a whole audit's.
  bool all_violations = true;
  long first_precision = 128;     ///< bits of the first enclosure
  long largest_precision = 8192;  ///< bits beyond which an element stays undecided
  /// Only a random choice of rows, the same ones of every output that has rows; nullopt: all.
  std::optional<RowSample> sample;
  /// Keep an ErrorMap of every output but the caches, which are copies.
  bool map_errors = false;
  /// How the audited output was rounded at last, where the tolerance is a model's; the audits of
  /// single outputs state it themselves.
  FormatRounding recorded = {};
  /// Where the blocks of rows are worked on, such as a JournalRunner; null: run_here.
  BlockRunner* runner = nullptr;
  /// What decides the result besides these options: the path, the contract, digests of the
  /// tensors. Journals and machines compare it.
  std::vector<IdentityField> identity = {};
  /// Called with every element that enclosures or exact arithmetic decide (rungs 2 and 3), from the
  /// thread that decides it.
  std::function<void(const AuditedElement&)> observe;
  /// Called with the number of rows finished, one call at a time, from any thread.
  std::function<void(std::int64_t)> progress;
};

}  // namespace gqa
