#include "gqa/audit/work/row_selection.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>

#include "audit/audit_support.hpp"
#include "audit/outputs_support.hpp"
#include "gqa/audit/filter/filter.hpp"
#include "gqa/audit/filter/filter_plan.hpp"
#include "gqa/audit/work/row_blocks.hpp"
#include "support/errors.hpp"
#include "support/random.hpp"

using namespace gqa;

namespace {

using Row = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // b, h, i

// Where the rows of a plan are; a row that is there twice fails.
template <class Plan>
std::set<Row> rows_of(const std::vector<Plan>& plans, const AttentionProblem& problem) {
  std::set<Row> rows;
  for (const Plan& plan : plans) {
    for (const RowRun& run : plan.runs) {
      CHECK(problem.head_map[static_cast<std::size_t>(run.head)] == plan.kv_head);
      for (std::int64_t i = run.begin; i < run.end; ++i) {
        CHECK(rows.insert({plan.batch, run.head, i}).second);
      }
    }
  }
  return rows;
}

std::set<Row> expected_rows(const AttentionProblem& problem,
                            const std::optional<RowSample>& sample) {
  const Dimensions& d = problem.dimensions;
  std::set<Row> rows;
  for (const std::int64_t n :
       sampled_numbers(sample.value_or(RowSample{row_count(d), 0}), row_count(d))) {
    rows.insert({n / (d.q_heads * d.queries), n / d.queries % d.q_heads, n % d.queries});
  }
  return rows;
}

}  // namespace

TEST_CASE("row_selection: one number of 2^62 is SplitMix64's published first output") {
  // Seed 1234567: https://rosettacode.org/wiki/Pseudo-random_numbers/Splitmix64
  constexpr std::int64_t of = std::int64_t{1} << 62;
  const auto expected = static_cast<std::int64_t>(6457827717110365317U % (std::uint64_t{1} << 62));
  CHECK(sampled_numbers({1, 1234567}, of) == std::vector<std::int64_t>{expected});
}

TEST_CASE("row_selection: a sample has as many different numbers as asked for, or all") {
  for (const std::uint64_t seed : test::seeds(200)) {
    CAPTURE(seed);
    test::Random random(seed);
    const std::int64_t of = random.integer(0, 300);
    const std::int64_t rows = random.integer(1, 320);
    CAPTURE(of);
    CAPTURE(rows);
    const std::vector<std::int64_t> numbers = sampled_numbers({rows, seed}, of);
    CHECK(static_cast<std::int64_t>(numbers.size()) == std::min(rows, of));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      CHECK(numbers[i] >= (i == 0 ? 0 : numbers[i - 1] + 1));
      CHECK(numbers[i] < of);
    }
    CHECK(sampled_numbers({rows, seed}, of) == numbers);
  }
}

TEST_CASE("row_selection: every pair of five is chosen about equally often") {
  std::map<std::vector<std::int64_t>, int> counts;
  for (std::uint64_t seed = 0; seed < 10000; ++seed) ++counts[sampled_numbers({2, seed}, 5)];
  CHECK(counts.size() == 10);
  for (const auto& [pair, count] : counts) {
    CAPTURE(pair[0]);
    CAPTURE(pair[1]);
    // 1000 expected; six standard deviations of 30.
    CHECK(count > 820);
    CHECK(count < 1180);
  }
}

TEST_CASE("row_selection: tiles and row blocks hold every chosen row exactly once") {
  for (const std::uint64_t seed : test::seeds(60)) {
    CAPTURE(seed);
    test::Random random(seed);
    const oracle::RealProblem real = test::random_real_problem(random);
    const AttentionProblem problem = make_problem(test::tensors_of(real), test::contract_of(real));
    std::optional<RowSample> sample;
    if (!random.one_in(4)) sample = {random.integer(1, row_count(problem.dimensions) + 1), seed};
    const std::set<Row> expected = expected_rows(problem, sample);
    const std::vector<RowBlock> blocks = plan_row_blocks(problem, sample);
    CHECK(rows_of(blocks, problem) == expected);
    for (const RowBlock& block : blocks) {
      std::int64_t size = 0;
      for (const RowRun& run : block.runs) size += run.size();
      CHECK(size >= 1);
      CHECK(size <= 16);
    }
    FilterOptions options;
    options.sample = sample;
    options.tile_rows = random.integer(1, 8);
    const std::vector<TilePlan> tiles = plan_tiles(problem, options);
    CHECK(rows_of(tiles, problem) == expected);
    for (std::size_t t = 0; t < tiles.size(); ++t) {
      CHECK(tiles[t].index == static_cast<std::int64_t>(t));
      CHECK(tiles[t].size() <= options.tile_rows);
    }
  }
}

TEST_CASE("row_selection: distant rows with small windows do not share a tile, near ones do") {
  test::SmallProblem small;
  small.queries = small.keys = 4000;
  small.query.assign(4000, 0);
  small.key.assign(4000, 0);
  small.value.assign(4000, 0);
  small.output.assign(4000, 0);
  small.contract.causal = true;
  FilterOptions options;
  options.sample = RowSample{100, 5};
  // Of a causal problem each key is read a few times at most, not once for every row.
  CHECK(plan_tiles(small.problem(), options).size() <= 10);
  small.contract.window = {9, 0};
  const AttentionProblem problem = small.problem();
  std::int64_t work = 0;
  for (const TilePlan& tile : plan_tiles(problem, options)) {
    const std::int64_t first = problem.visibility.range(0, tile.runs.front().begin).begin;
    const std::int64_t last = problem.visibility.range(0, tile.runs.back().end - 1).end;
    work += tile.size() * (last - std::max<std::int64_t>(first, 0));
  }
  // Each row sees ten keys; at most some more are multiplied for a neighbour.
  CHECK(work <= 100 * 30);
}

TEST_CASE("row_selection: a sample without rows is refused") {
  AuditOptions options;
  options.sample = RowSample{0, 1};
  const AttentionProblem problem = test::equal_scores().problem();
  for (const bool use_filter : {true, false}) {
    options.use_filter = use_filter;
    CHECK(test::refusal_of([&] { audit(problem, options); }) == "audit.sample at sample");
  }
  FilterOptions filter;
  filter.sample = options.sample;
  CHECK(test::refusal_of([&] { filter_tile_count(problem, filter); }) ==
        "filter.options at sample");
  filter = {};
  filter.tiles = std::vector<std::int64_t>{1};
  CHECK(test::refusal_of([&] { filter_reference(problem, filter, [](const FilterTile&) {}); }) ==
        "filter.options at tiles");
}
