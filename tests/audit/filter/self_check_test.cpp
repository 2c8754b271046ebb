// A filter that computes wrongly is found out by enclosures of the rows that it decided.
#include "gqa/audit/filter/self_check.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <deque>

#include "audit/filter_support.hpp"
#include "gqa/audit/audit.hpp"
#include "gqa/audit/enclose/enclosure.hpp"
#include "gqa/audit/filter/tile_auditor.hpp"
#include "support/random.hpp"

namespace {

using namespace gqa;
using gqa_test::Draw;

// A tile with memory of its own, to be broken.
struct OwnedTile {
  FilterTile tile;
  std::vector<FilterRow> rows;
  std::vector<double> values;
  std::vector<double> column_maximum;
  std::vector<double> squares;

  explicit OwnedTile(const FilterTile& from)
      : tile(from),
        rows(from.rows.begin(), from.rows.end()),
        values(from.values, from.values + from.rows.size() * from.stride),
        column_maximum(from.column_maximum.begin(), from.column_maximum.end()) {
    tile.rows = rows;
    tile.values = values.data();
    tile.column_maximum = column_maximum;
    if (from.square_sums == nullptr) return;
    squares.assign(from.square_sums, from.square_sums + rows.size() * from.stride);
    tile.square_sums = squares.data();
  }
  OwnedTile(const OwnedTile&) = delete;
  OwnedTile& operator=(const OwnedTile&) = delete;

  double& value(std::size_t r, std::size_t c) { return values[r * tile.stride + c]; }
};

// A problem of one KV head with normal operands, and the nearest binary32 numbers to what the
// filter computes as its output: right.
struct RightProblem {
  static constexpr std::int64_t heads = 2, queries = 5, keys = 40, dk = 16, dv = 8;
  ProblemTensors tensors;
  Contract contract;
  AuditOptions options;
  std::optional<AttentionProblem> problem;
  std::deque<OwnedTile> tiles;

  RightProblem(std::uint64_t seed, const Tolerance& tolerance) {
    gqa_test::Random random(seed);
    const auto make = [&](std::int64_t of_heads, std::int64_t rows, std::int64_t width) {
      return gqa_test::tensor_of(
          {1, of_heads, rows, width},
          gqa_test::draw(random, Draw::normal, static_cast<std::size_t>(of_heads * rows * width)),
          ElementType::binary32);
    };
    tensors.query = make(heads, queries, dk);
    tensors.key = make(1, keys, dk);
    tensors.value = make(1, keys, dv);
    tensors.output = make(heads, queries, dv);
    contract.causal = seed % 2 == 0;
    contract.causal_alignment = CausalAlignment::bottom_right;
    options.tolerance = tolerance;
    problem = make_problem(tensors, contract);
    compute();
    take_output();
  }

  AuditTally audit_tiles() {
    TileAuditor auditor(*problem, options);
    AuditTally tally(1, heads, queries, dv);
    for (const OwnedTile& owned : tiles) auditor.audit_tile(owned.tile, tally);
    return tally;
  }

 private:
  void compute() {
    FilterOptions filter;
    filter.model_terms = std::holds_alternative<ModelTolerance>(options.tolerance);
    filter.threads = 1;
    filter_reference(*problem, filter, [&](const FilterTile& tile) { tiles.emplace_back(tile); });
  }
  void take_output() {
    std::vector<double> output(static_cast<std::size_t>(heads * queries * dv));
    for (const OwnedTile& owned : tiles) {
      for (std::size_t r = 0; r < owned.rows.size(); ++r) {
        const FilterRow& row = owned.rows[r];
        for (std::int64_t c = 0; c < dv; ++c) {
          output[static_cast<std::size_t>((row.head * queries + row.row) * dv + c)] =
              owned.tile.output(r, c);
        }
      }
    }
    tensors.output = gqa_test::tensor_of({1, heads, queries, dv}, output, ElementType::binary32);
    problem = make_problem(tensors, contract);
  }
};

std::vector<Tolerance> tolerances() {
  return {UlpTolerance{4}, AbsoluteRelativeTolerance{power_of_two(-20), 0},
          ModelTolerance{&f32_model}};
}

// Every value as far from the exact one as its radius allows it, almost.
void move_by_radius(OwnedTile& owned, double share) {
  for (std::size_t r = 0; r < owned.rows.size(); ++r) {
    for (std::size_t c = 0; c < static_cast<std::size_t>(owned.tile.columns); ++c) {
      owned.value(r, c) += share * owned.tile.radius(r, static_cast<std::int64_t>(c));
    }
  }
}

void halve_radius(OwnedTile& owned) {
  for (FilterRow& row : owned.rows) {
    row.relative /= 2;
    row.underflow /= 2;
  }
}

// As if exp of each row's heaviest score had been wrong by this factor.
void spoil_one_exp(const AttentionProblem& problem, OwnedTile& owned, double factor) {
  const EnclosureReader reader(problem, 0, 0);
  for (std::size_t r = 0; r < owned.rows.size(); ++r) {
    const FilterRow& row = owned.rows[r];
    const auto visible = reader.visible(row.head, row.row);
    const auto exact = reader.row(row.head, row.row, visible);
    std::size_t heaviest = visible.front();
    for (const std::size_t j : visible) {
      if (midpoint_less(exact.weights[heaviest], exact.weights[j])) heaviest = j;
    }
    const double more = exact.weights[heaviest].midpoint_double() * (factor - 1);
    for (std::size_t c = 0; c < static_cast<std::size_t>(owned.tile.columns); ++c) {
      const double value = reader.value_balls(heaviest)[c].midpoint_double();
      owned.value(r, c) = (owned.value(r, c) + more * value) / (1 + more);
    }
  }
}

bool is_caught(RightProblem& problem) {
  try {
    problem.audit_tiles();
    return false;
  } catch (const SelfCheckError&) {
    return true;
  }
}

}  // namespace

TEST_CASE("self-check: what the filter decides rightly is asked again and stands") {
  for (const Tolerance& tolerance : tolerances()) {
    CAPTURE(describe(tolerance));
    for (const std::uint64_t seed : test::seeds(30)) {
      CAPTURE(seed);
      RightProblem right(seed, tolerance);
      CHECK(right.audit_tiles().self_checked == 4);
      right.options.self_check = false;
      CHECK(right.audit_tiles().self_checked == 0);
    }
  }
}

TEST_CASE("self-check: a radius halved, so that it misses, is caught in 100 of 100 runs") {
  for (const Tolerance& tolerance : tolerances()) {
    CAPTURE(describe(tolerance));
    int caught = 0, healthy = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
      RightProblem broken(seed, tolerance);
      for (OwnedTile& owned : broken.tiles) move_by_radius(owned, 0.95);
      healthy += is_caught(broken) ? 0 : 1;
      for (OwnedTile& owned : broken.tiles) halve_radius(owned);
      caught += is_caught(broken) ? 1 : 0;
    }
    CHECK(healthy == 100);
    CHECK(caught == 100);
  }
}

TEST_CASE("self-check: one exp wrong by a millionth is caught in 100 of 100 runs") {
  for (const Tolerance& tolerance : tolerances()) {
    CAPTURE(describe(tolerance));
    int caught = 0;
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
      RightProblem broken(seed, tolerance);
      for (OwnedTile& owned : broken.tiles) spoil_one_exp(*broken.problem, owned, 1 + 1e-6);
      caught += is_caught(broken) ? 1 : 0;
      // Without the check nothing would have said so.
      broken.options.self_check = false;
      CHECK_FALSE(is_caught(broken));
    }
    CHECK(caught == 100);
  }
}

TEST_CASE(
    "self-check: a verdict that enclosures do not share is a contradiction with both values") {
  for (const Tolerance& tolerance : tolerances()) {
    CAPTURE(describe(tolerance));
    RightProblem right(1, tolerance);
    const FilterTile& tile = right.tiles.front().tile;
    FilterVerdicts verdicts(static_cast<std::size_t>(tile.columns), Uncertain::yes());
    CHECK_FALSE(find_contradiction(*right.problem, right.options, tile, 1, verdicts).has_value());
    verdicts.assign(verdicts.size(), Uncertain::unknown());
    CHECK_FALSE(find_contradiction(*right.problem, right.options, tile, 1, verdicts).has_value());
    verdicts[3] = Uncertain::no();
    const auto found = find_contradiction(*right.problem, right.options, tile, 1, verdicts);
    REQUIRE(found.has_value());
    const FilterRow& row = tile.rows[1];
    CHECK(
        found->starts_with(fmt::format("output[0, {}, {}, 3]: beyond the tolerance by the filter ("
                                       "{:.17g} with radius",
                                       row.head, row.row, tile.output(1, 3))));
    CHECK(found->find("within it by enclosures (") != std::string::npos);
  }
}

TEST_CASE("self-check: a result of the filter that is not a number is a contradiction") {
  RightProblem broken(1, UlpTolerance{4});
  OwnedTile& owned = broken.tiles.front();
  owned.value(0, 2) = std::nan("");
  const FilterVerdicts open(static_cast<std::size_t>(owned.tile.columns), Uncertain::unknown());
  CHECK(find_contradiction(*broken.problem, broken.options, owned.tile, 0, open).has_value());
}

TEST_CASE("self-check: rows are few, always the same, of the sample, and none of long histories") {
  RightProblem right(1, UlpTolerance{4});
  AuditOptions options = right.options;
  const auto rows = self_check_rows(*right.problem, options);
  CHECK(rows.size() == 4);
  CHECK(rows == self_check_rows(*right.problem, options));
  CHECK(std::ranges::is_sorted(rows));
  options.sample = RowSample{3, 7};
  CHECK(self_check_rows(*right.problem, options) == sampled_numbers({3, 7}, 10));
  options.sample.reset();
  AttentionProblem large = *right.problem;
  large.dimensions.keys = 4096;
  large.dimensions.key_size = large.dimensions.value_size = 128;
  CHECK(self_check_rows(large, options).size() == 1);
  large.dimensions.keys = 8192;
  CHECK(self_check_rows(large, options).empty());
  options.self_check = false;
  CHECK(self_check_rows(*right.problem, options).empty());
}
