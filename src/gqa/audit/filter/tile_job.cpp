#include "gqa/audit/filter/tile_job.hpp"

#include <utility>

namespace gqa {

void work_on_tiles(BlockJob& job, const AttentionProblem& problem, const FilterOptions& filter,
                   AuditTile audit_tile) {
  job.count = filter_tile_count(problem, filter);
  job.run = [&problem, filter, empty = job.empty, audit_tile = std::move(audit_tile)](
                std::span<const std::int64_t> blocks, const FinishBlock& finish) {
    FilterOptions some = filter;
    some.tiles.emplace(blocks.begin(), blocks.end());
    filter_reference(problem, some, [&](const FilterTile& tile) {
      AuditTally tally = empty;
      audit_tile(tile, tally);
      finish(tile.index, tally);
    });
  };
}

}  // namespace gqa
