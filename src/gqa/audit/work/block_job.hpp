// An audit of one output as a reduction over blocks, which may be anywhere and in any order.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "gqa/audit/decide/tally.hpp"

namespace gqa {

/// One thing that decides what an audit finds, by name: "output", "tolerance", "query", ...
struct IdentityField {
  std::string name;
  std::string value;
  friend bool operator==(const IdentityField&, const IdentityField&) = default;
};

/// Takes the tally of a finished block. Called from several threads at once.
using FinishBlock = std::function<void(std::int64_t block, const AuditTally& tally)>;

/// The work on one output. Blocks 0 to count - 1 depend neither on the number of threads nor
/// on each other, and the result is the merge of their tallies.
struct BlockJob {
  std::string output;                   ///< name of the output
  std::vector<IdentityField> identity;  ///< equal identities: equal blocks, equal tallies
  std::int64_t count = 0;
  AuditTally empty;  ///< nothing audited yet, with this output's axes
  /// Audits the blocks listed, rising, in parallel. What `finish` throws ends the work.
  std::function<void(std::span<const std::int64_t> blocks, const FinishBlock& finish)> run;
  /// Called with the number of rows finished, one call at a time; may be empty.
  std::function<void(std::int64_t)> progress;
};

/// Merges finished blocks and reports progress.
class BlockMerge {
 public:
  explicit BlockMerge(const BlockJob& job) : job_(job), total_(job.empty) {}
  /// May be called from several threads.
  void add(const AuditTally& tally);
  /// So far. Not while a block may finish.
  const AuditTally& total() const { return total_; }
  AuditTally take() { return std::move(total_); }

 private:
  const BlockJob& job_;
  std::mutex mutex_;
  AuditTally total_;
};

/// Where and how the blocks of jobs are worked on.
class BlockRunner {
 public:
  BlockRunner() = default;
  BlockRunner(const BlockRunner&) = delete;
  BlockRunner& operator=(const BlockRunner&) = delete;
  virtual ~BlockRunner() = default;
  /// The merged tally of all blocks.
  virtual AuditTally run(const BlockJob& job) = 0;
};

/// All blocks of `job` except those of `finished`, which is rising.
std::vector<std::int64_t> pending_blocks(const BlockJob& job,
                                         const std::vector<std::int64_t>& finished = {});

/// In this process, nothing kept.
AuditTally run_here(const BlockJob& job);

}  // namespace gqa
