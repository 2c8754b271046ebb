#include "gqa/audit/filter.hpp"

#include <fmt/format.h>
#include <tbb/concurrent_queue.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "gqa/audit/blas.hpp"
#include "gqa/audit/filter_tile.hpp"
#include "gqa/audit/vector_exp.hpp"
#include "gqa/error.hpp"

namespace gqa {
namespace {

// Tiles with at most so many rows are split along the keys: decoding.
constexpr std::int64_t few_rows = 64;

void require(bool holds, const char* option, const std::string& message) {
  if (!holds) throw InputError("filter.options", option, message);
}

void check_options(const FilterOptions& options) {
  require(options.tile_rows > 0 && options.tile_rows <= 65536, "tile_rows", "must be 1 to 65536");
  require(options.key_block > 0 && options.key_block <= 65536 &&
              options.key_block % static_cast<std::int64_t>(vector_padding) == 0,
          "key_block", fmt::format("must be a multiple of {}, at most 65536", vector_padding));
  require(options.key_segment >= options.key_block, "key_segment", "must not be below key_block");
  require(options.radius || !options.model_terms, "model_terms", "needs radius");
  require(options.threads >= 0, "threads", "must not be negative");
}

void check_environment() {
  if (flushes_subnormals() || !rounds_to_nearest()) {
    throw std::runtime_error(
        "internal error: the processor flushes subnormal numbers or does not round to nearest "
        "on this thread; certified radii need IEEE arithmetic (was something built with "
        "-ffast-math?)");
  }
}

// Query heads by the KV head that they read.
std::vector<std::vector<std::int64_t>> groups_of(const AttentionProblem& problem) {
  std::vector<std::vector<std::int64_t>> groups(
      static_cast<std::size_t>(problem.dimensions.kv_heads));
  for (std::size_t h = 0; h < problem.head_map.size(); ++h) {
    groups[static_cast<std::size_t>(problem.head_map[h])].push_back(static_cast<std::int64_t>(h));
  }
  return groups;
}

// Cuts the rows of one group into tiles of at most tile_rows.
void plan_group(const AttentionProblem& problem, const FilterOptions& options, TilePlan tile,
                const std::vector<std::int64_t>& group, std::vector<TilePlan>& plans) {
  const auto heads = static_cast<std::int64_t>(group.size());
  const std::int64_t heads_at_once = std::min(heads, options.tile_rows);
  for (std::int64_t first = 0; first < heads; first += heads_at_once) {
    const std::int64_t last = std::min(heads, first + heads_at_once);
    tile.heads.assign(group.begin() + first, group.begin() + last);
    const std::int64_t rows = std::max<std::int64_t>(1, options.tile_rows / heads_at_once);
    for (std::int64_t begin = 0; begin < problem.dimensions.queries; begin += rows) {
      tile.index = static_cast<std::int64_t>(plans.size());
      tile.row_begin = begin;
      tile.row_end = std::min(problem.dimensions.queries, begin + rows);
      plans.push_back(tile);
    }
  }
}

std::vector<TilePlan> plan_tiles(const AttentionProblem& problem, const FilterOptions& options) {
  check_options(options);
  const auto groups = groups_of(problem);
  std::vector<TilePlan> plans;
  for (std::int64_t b = 0; b < problem.dimensions.batch; ++b) {
    for (std::size_t g = 0; g < groups.size(); ++g) {
      TilePlan tile;
      tile.batch = b;
      tile.kv_head = static_cast<std::int64_t>(g);
      plan_group(problem, options, tile, groups[g], plans);
    }
  }
  return plans;
}

// Buffers wait here between tiles. Not thread-local: a thread that waits for the segments of
// its tile may take up another tile.
class MemoryPool {
 public:
  MemoryPool(const FilterShape& shape, bool model_terms)
      : shape_(shape), model_terms_(model_terms) {}
  std::unique_ptr<FilterMemory> take() {
    std::unique_ptr<FilterMemory> memory;
    if (!waiting_.try_pop(memory)) memory = std::make_unique<FilterMemory>(shape_, model_terms_);
    return memory;
  }
  void give(std::unique_ptr<FilterMemory> memory) { waiting_.push(std::move(memory)); }

 private:
  const FilterShape& shape_;
  bool model_terms_;
  tbb::concurrent_queue<std::unique_ptr<FilterMemory>> waiting_;
};

void add_segment(TileAccumulator& accumulator, KeyRange keys, MemoryPool& pool) {
  check_environment();
  auto memory = pool.take();
  accumulator.add_keys(keys, *memory);
  pool.give(std::move(memory));
}

void run_tile(const FilterContext& context, const TilePlan& plan, MemoryPool& pool,
              const std::function<void(const FilterTile&)>& consume) {
  TileAccumulator total(context, plan, true);
  const KeyRange keys = total.keys();
  const std::int64_t length = context.options.key_segment;
  if (plan.size() > few_rows || keys.end - keys.begin <= length) {
    add_segment(total, keys, pool);
    total.finish(consume);
    return;
  }
  const std::int64_t segments = (keys.end - keys.begin + length - 1) / length;
  std::vector<std::unique_ptr<TileAccumulator>> parts(static_cast<std::size_t>(segments));
  tbb::parallel_for(std::int64_t{0}, segments, [&](std::int64_t s) {
    auto part = std::make_unique<TileAccumulator>(context, plan, false);
    const std::int64_t begin = keys.begin + s * length;
    add_segment(*part, {begin, std::min(keys.end, begin + length)}, pool);
    parts[static_cast<std::size_t>(s)] = std::move(part);
  });
  // In order, so that the result does not depend on who was first.
  for (const auto& part : parts) total.join(*part);
  total.finish(consume);
}

}  // namespace

std::int64_t filter_tile_count(const AttentionProblem& problem, const FilterOptions& options) {
  return static_cast<std::int64_t>(plan_tiles(problem, options).size());
}

void filter_reference(const AttentionProblem& problem, const FilterOptions& options,
                      const std::function<void(const FilterTile&)>& consume) {
  const std::vector<TilePlan> plans = plan_tiles(problem, options);
  const auto count = static_cast<std::int64_t>(plans.size());
  const std::int64_t begin = std::clamp<std::int64_t>(options.tile_begin, 0, count);
  const std::int64_t end = std::clamp<std::int64_t>(options.tile_end, begin, count);
  if (begin == end) return;
  std::int64_t largest = 0;
  for (const TilePlan& plan : plans) largest = std::max(largest, plan.size());
  const FilterContext context{problem, options, ScoreConstants(problem),
                              FilterShape(problem.dimensions, options, largest)};
  const SingleThreadedBlas blas;
  MemoryPool pool(context.shape, options.model_terms);
  tbb::task_arena arena(options.threads > 0 ? options.threads : tbb::task_arena::automatic);
  arena.execute([&] {
    tbb::parallel_for(begin, end, [&](std::int64_t t) {
      run_tile(context, plans[static_cast<std::size_t>(t)], pool, consume);
    });
  });
}

}  // namespace gqa
