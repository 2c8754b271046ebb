// Blocks of filter tiles: for what the filter knows of every row.
#pragma once

#include <functional>

#include "gqa/audit/filter/filter.hpp"
#include "gqa/audit/work/block_job.hpp"

namespace gqa {

/// Adds the rows of one tile to a tally. Called from several threads at once.
using AuditTile = std::function<void(const FilterTile& tile, AuditTally& tally)>;

/// Sets `job.count` and `job.run` to one block for each tile; job.empty must be there. The job
/// keeps copies of all arguments but the problem.
void work_on_tiles(BlockJob& job, const AttentionProblem& problem, const FilterOptions& filter,
                   AuditTile audit_tile);

}  // namespace gqa
