#include "gqa/audit/filter/filter.hpp"

#include <fmt/format.h>
#include <tbb/concurrent_queue.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "gqa/audit/filter/blas.hpp"
#include "gqa/audit/filter/filter_plan.hpp"
#include "gqa/audit/filter/filter_tile.hpp"
#include "gqa/audit/filter/vector_exp.hpp"
#include "gqa/error.hpp"
#include "gqa/num/arithmetic_environment.hpp"

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
  require(!options.sample || options.sample->rows > 0, "sample", "must have a row");
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
  require_ieee_arithmetic();
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
  check_options(options);
  return static_cast<std::int64_t>(plan_tiles(problem, options).size());
}

void filter_reference(const AttentionProblem& problem, const FilterOptions& options,
                      const std::function<void(const FilterTile&)>& consume) {
  check_options(options);
  const std::vector<TilePlan> plans = plan_tiles(problem, options);
  const auto count = static_cast<std::int64_t>(plans.size());
  if (options.tiles) {
    require(std::ranges::all_of(*options.tiles, [&](auto t) { return t >= 0 && t < count; }),
            "tiles", fmt::format("must be below {}", count));
  }
  const std::int64_t wanted =
      options.tiles ? static_cast<std::int64_t>(options.tiles->size()) : count;
  if (wanted == 0) return;
  std::int64_t largest = 0;
  for (const TilePlan& plan : plans) largest = std::max(largest, plan.size());
  const FilterContext context{problem, options, ScoreConstants(problem),
                              FilterShape(problem.dimensions, options, largest)};
  const SingleThreadedBlas blas;
  MemoryPool pool(context.shape, options.model_terms);
  tbb::task_arena arena(options.threads > 0 ? options.threads : tbb::task_arena::automatic);
  arena.execute([&] {
    tbb::parallel_for(std::int64_t{0}, wanted, [&](std::int64_t i) {
      const std::int64_t t = options.tiles ? (*options.tiles)[static_cast<std::size_t>(i)] : i;
      run_tile(context, plans[static_cast<std::size_t>(t)], pool, consume);
    });
  });
}

}  // namespace gqa
