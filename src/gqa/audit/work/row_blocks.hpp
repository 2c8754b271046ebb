// Blocks of single rows: for outputs and rungs that have no tiles.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "gqa/audit/work/block_job.hpp"
#include "gqa/audit/work/row_selection.hpp"

namespace gqa {

/// Some rows of the query heads that read one history.
struct RowBlock {
  std::int64_t batch = 0;
  std::int64_t kv_head = 0;
  std::vector<RowRun> runs;
};

/// The selected rows, at most 16 to a block, history by history.
std::vector<RowBlock> plan_row_blocks(const AttentionProblem& problem,
                                      const std::optional<RowSample>& sample);

/// Adds one row to a tally. Called from several threads at once.
using AuditRow = std::function<void(std::int64_t head, std::int64_t row, AuditTally& tally)>;
/// Prepares the rows of one history; what it returns is kept while they are worked on.
using OpenHistory = std::function<AuditRow(std::int64_t batch, std::int64_t kv_head)>;

/// Sets `job.count` and `job.run` to such blocks; job.empty must be there. The job keeps
/// copies of all arguments but the problem.
void work_on_rows(BlockJob& job, std::vector<RowBlock> blocks, OpenHistory open);

}  // namespace gqa
