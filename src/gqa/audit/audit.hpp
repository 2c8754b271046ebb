// The audit: every output element against the certified reference.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gqa/attention/attention_problem.hpp"
#include "gqa/audit/block_job.hpp"
#include "gqa/audit/row_selection.hpp"
#include "gqa/audit/tally.hpp"
#include "gqa/audit/tolerance.hpp"

namespace gqa {

enum class Verdict { pass, fail, undecided, error };
std::string_view name(Verdict verdict);

struct AuditOptions {
  Tolerance tolerance;
  /// False: enclosures alone (rungs 2 and 3). The verdicts are the same, only slower.
  bool use_filter = true;
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
  /// Called with the number of rows finished, one call at a time, from any thread.
  std::function<void(std::int64_t)> progress;
};

/// The result for one output tensor.
struct AuditResult {
  Verdict verdict =
      Verdict::undecided;  ///< pass only if every element was within, and that shows something
  FailureStrength strength = FailureStrength::none;
  AuditTally tally;
  std::string where;  ///< where the violations lie, in words; empty without any
  /// Every element is within, and so would be those of a null output (AuditTally::nulls): a pass
  /// under a stated tolerance, undecided under a model.
  bool shows_nothing = false;
};

/// Audits `problem.output` element by element.
///
/// Errors: InputError "contract.missing_tensor" at "output"; "audit.nothing_to_audit"
/// if the output has no element: an empty problem never passes; "audit.sample" at "sample" if
/// the sample has no row; those of the runner.
AuditResult audit(const AttentionProblem& problem, const AuditOptions& options);

/// A job on the output of that name: what is not the work itself. `empty`: its axes.
/// Errors: InputError "audit.sample" at "sample" if the sample has no row.
BlockJob start_job(const std::string& output, AuditTally empty, const AuditOptions& options);
/// The job's tally, from options.runner if there is one.
AuditTally run_job(const BlockJob& job, const AuditOptions& options);

/// Where violations lie: "all of batch 0, query heads 1 and 2", with rows and columns
/// where those are few.
std::string describe_violations(const AuditTally& tally, const Dimensions& dimensions);

}  // namespace gqa
