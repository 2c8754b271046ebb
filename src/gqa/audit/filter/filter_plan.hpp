// How the rows of a problem are cut into the filter's tiles.
#pragma once

#include <cstdint>
#include <vector>

#include "gqa/audit/filter/filter_tile_result.hpp"

namespace gqa {

/// The rows of one tile: runs of the query heads that read one KV head of one batch entry.
struct TilePlan {
  std::int64_t index = 0;
  std::int64_t batch = 0;
  std::int64_t kv_head = 0;
  std::vector<RowRun> runs;

  std::int64_t size() const {
    std::int64_t rows = 0;
    for (const RowRun& run : runs) rows += run.size();
    return rows;
  }
};

/// All rows: blocks of query rows of all heads of a group. A sample: the chosen rows of a
/// group in the order of their query rows, cut where reading a tile's keys again costs less
/// than multiplying rows with keys that they do not see.
/// Precondition: options are checked.
std::vector<TilePlan> plan_tiles(const AttentionProblem& problem, const FilterOptions& options);

}  // namespace gqa
