// Whether an output fails, for as little work as that takes.
#pragma once

#include <chrono>

#include "gqa/audit/work/audit_options.hpp"
#include "gqa/audit/work/block_job.hpp"

namespace gqa {

/// Works on more and more blocks at a time until one holds a violation; the rest is left out, so
/// that the tally of a failure is no whole audit's.
class StoppingRunner : public BlockRunner {
 public:
  using Time = std::chrono::steady_clock::time_point;
  /// After `deadline` no further blocks are begun.
  explicit StoppingRunner(Time deadline = Time::max()) : deadline_(deadline) {}

  /// Makes `options` those of an audit by this runner of which nothing but the verdict is used.
  void ask_verdict_alone(AuditOptions& options);
  /// Also stop where the first blocks are within, and null outputs in their place would be, too:
  /// the audit is undecided, then.
  void stop_without_power(bool stops = true) { stops_without_power_ = stops; }

  AuditTally run(const BlockJob& job) override;
  /// The time was up before the last run was through: its tally says nothing of the other blocks.
  bool was_late() const { return was_late_; }

 private:
  Time deadline_;
  bool was_late_ = false;
  bool stops_without_power_ = false;
};

}  // namespace gqa
