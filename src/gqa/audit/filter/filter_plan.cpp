#include "gqa/audit/filter/filter_plan.hpp"

#include <algorithm>

namespace gqa {
namespace {

// To read, decode and measure a key costs about as much as to multiply it with so many rows.
constexpr std::int64_t rows_worth_a_key = 8;

// Query heads by the KV head that they read.
std::vector<std::vector<std::int64_t>> groups_of(const AttentionProblem& problem) {
  std::vector<std::vector<std::int64_t>> groups(
      static_cast<std::size_t>(problem.dimensions.kv_heads));
  for (std::size_t h = 0; h < problem.head_map.size(); ++h) {
    groups[static_cast<std::size_t>(problem.head_map[h])].push_back(static_cast<std::int64_t>(h));
  }
  return groups;
}

void append(std::vector<TilePlan>& plans, TilePlan tile) {
  tile.index = static_cast<std::int64_t>(plans.size());
  plans.push_back(std::move(tile));
}

// Cuts all rows of one group into tiles of at most tile_rows.
void plan_group(const AttentionProblem& problem, const FilterOptions& options, TilePlan tile,
                const std::vector<std::int64_t>& group, std::vector<TilePlan>& plans) {
  const auto heads = static_cast<std::int64_t>(group.size());
  const std::int64_t heads_at_once = std::min(heads, options.tile_rows);
  for (std::int64_t first = 0; first < heads; first += heads_at_once) {
    const std::int64_t last = std::min(heads, first + heads_at_once);
    const std::int64_t rows = std::max<std::int64_t>(1, options.tile_rows / heads_at_once);
    for (std::int64_t begin = 0; begin < problem.dimensions.queries; begin += rows) {
      const std::int64_t end = std::min(problem.dimensions.queries, begin + rows);
      tile.runs.clear();
      for (std::int64_t h = first; h < last; ++h) {
        tile.runs.push_back({group[static_cast<std::size_t>(h)], begin, end});
      }
      append(plans, tile);
    }
  }
}

KeyRange keys_of(const AttentionProblem& problem, std::int64_t batch, const RowRun& row) {
  KeyRange keys = problem.visibility.range(batch, row.begin);
  keys.begin = std::max<std::int64_t>(keys.begin, 0);
  if (keys.empty()) keys = {0, 0};
  return keys;
}

KeyRange joined(const KeyRange& a, const KeyRange& b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

std::int64_t cost(const KeyRange& keys, std::int64_t rows) {
  return keys.empty() ? 0 : (keys.end - keys.begin) * (rows + rows_worth_a_key);
}

std::vector<RowRun> single_rows(const std::vector<RowRun>& runs) {
  std::vector<RowRun> rows;
  for (const RowRun& run : runs) {
    for (std::int64_t row = run.begin; row < run.end; ++row) {
      rows.push_back({run.head, row, row + 1});
    }
  }
  return rows;
}

// Rows near each other see nearly the same keys, so that each tile takes neighbours.
void plan_sample(const AttentionProblem& problem, const FilterOptions& options, TilePlan tile,
                 const std::vector<RowRun>& chosen, std::vector<TilePlan>& plans) {
  std::vector<RowRun> rows = single_rows(chosen);
  std::ranges::sort(rows, [](const RowRun& a, const RowRun& b) {
    return std::pair(a.begin, a.head) < std::pair(b.begin, b.head);
  });
  const auto close = [&] {
    if (tile.runs.empty()) return;
    std::vector<RowRun> members = std::move(tile.runs);
    std::ranges::sort(members, [](const RowRun& a, const RowRun& b) {
      return std::pair(a.head, a.begin) < std::pair(b.head, b.begin);
    });
    tile.runs.clear();
    for (const RowRun& row : members) append_run(tile.runs, row);
    append(plans, tile);
    tile.runs.clear();
  };
  KeyRange keys{0, 0};
  for (const RowRun& row : rows) {
    const KeyRange own = keys_of(problem, tile.batch, row);
    const auto size = static_cast<std::int64_t>(tile.runs.size());
    const KeyRange both = joined(keys, own);
    if (size == options.tile_rows || cost(both, size + 1) > cost(keys, size) + cost(own, 1)) {
      close();
      keys = own;
    } else {
      keys = both;
    }
    tile.runs.push_back(row);
  }
  close();
}

}  // namespace

std::vector<TilePlan> plan_tiles(const AttentionProblem& problem, const FilterOptions& options) {
  const Dimensions& d = problem.dimensions;
  std::vector<TilePlan> plans;
  if (options.sample) {
    const auto histories = selected_rows(problem, options.sample);
    for (std::size_t h = 0; h < histories.size(); ++h) {
      const auto history = static_cast<std::int64_t>(h);
      plan_sample(problem, options, {0, history / d.kv_heads, history % d.kv_heads, {}},
                  histories[h], plans);
    }
    return plans;
  }
  const auto groups = groups_of(problem);
  for (std::int64_t b = 0; b < d.batch; ++b) {
    for (std::size_t g = 0; g < groups.size(); ++g) {
      plan_group(problem, options, {0, b, static_cast<std::int64_t>(g), {}}, groups[g], plans);
    }
  }
  return plans;
}

}  // namespace gqa
