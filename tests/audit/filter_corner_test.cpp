// What is not a number, what is hidden, what is refused: the corners of the filter.
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <string>

#include "audit/filter_check.hpp"
#include "audit/filter_problems.hpp"
#include "gqa/audit/filter/filter.hpp"
#include "support/errors.hpp"

using namespace gqa_test;  // NOLINT: test file

TEST_CASE("filter: NaN and infinities in invisible slots have no effect") {
  for (const double poison : {std::nan(""), infinity, -infinity, 1e300}) {
    Random random(3);
    Plain clean(random, 20, 40, Draw::normal, Draw::normal);
    clean.contract.causal = true;
    clean.contract.causal_alignment = CausalAlignment::top_left;
    Plain poisoned = clean;
    for (std::size_t j = 20; j < 40; ++j) {
      poisoned.key[j * 8 + 3] = poison;
      poisoned.value[j * 4 + 1] = poison;
    }
    const auto expected = run_filter(clean.problem(), {});
    const auto found = run_filter(poisoned.problem(), {});
    REQUIRE(found.size() == expected.size());
    for (std::size_t r = 0; r < found.size(); ++r) {
      CAPTURE(poison);
      CAPTURE(found[r].row.row);
      CHECK_FALSE(found[r].row.open);
      CHECK(found[r].output == expected[r].output);
    }
  }
}

TEST_CASE("filter: exactly the rows that see NaN or an infinity are open") {
  for (const double poison : {std::nan(""), infinity, -infinity}) {
    for (const int where : {0, 1, 2}) {
      Random random(4);
      Plain plain(random, 40, 40, Draw::normal, Draw::normal);
      plain.contract.causal = true;
      if (where == 0) plain.query[11 * 8 + 2] = poison;
      if (where == 1) plain.key[17 * 8 + 2] = poison;
      if (where == 2) plain.value[17 * 4 + 2] = poison;
      for (const Certified& row : run_filter(plain.problem(), {})) {
        CAPTURE(poison);
        CAPTURE(where);
        CAPTURE(row.row.row);
        CHECK(row.row.open == (where == 0 ? row.row.row == 11 : row.row.row >= 17));
      }
    }
  }
}

TEST_CASE(
    "filter: a key that the boolean mask hides may hold NaN; one that it shows opens the row") {
  Random random(5);
  Plain plain(random, 4, 6, Draw::normal, Draw::normal);
  plain.key[2 * 8] = std::nan("");
  plain.value[2 * 4] = infinity;
  std::vector<char> mask(24, 1);
  for (const std::size_t row : {0U, 1U, 3U}) mask[row * 6 + 2] = 0;
  plain.extra.attn_mask = booleans_of({4, 6}, mask);
  Ledger ledger;
  for (const Certified& row : run_filter(plain.problem(), {})) {
    CAPTURE(row.row.row);
    CHECK(row.row.open == (row.row.row == 2));
  }
  check_problem(plain.problem(), {}, ledger);
}

TEST_CASE("filter: overflow, biases that are not finite and infinite sinks open the row") {
  Random random(6);
  SUBCASE("scores overflow") {
    Plain plain(random, 2, 5, Draw::normal, Draw::normal);
    for (double& x : plain.query) x *= 1e200;
    for (double& x : plain.key) x *= 1e150;
    for (const Certified& row : run_filter(plain.problem(), {})) CHECK(row.row.open);
  }
  SUBCASE("scores too large for a radius") {
    Plain plain(random, 2, 5, Draw::normal, Draw::normal);
    for (double& x : plain.query) x *= 1e17;
    for (const Certified& row : run_filter(plain.problem(), {})) CHECK(row.row.open);
  }
  SUBCASE("a bias of plus infinity") {
    Plain plain(random, 2, 5, Draw::normal, Draw::normal);
    std::vector<double> bias(10, 0.0);
    bias[3] = infinity;
    plain.extra.attn_mask = tensor_of({2, 5}, bias, ElementType::binary64);
    const auto rows = run_filter(plain.problem(), {});
    CHECK(rows[0].row.open);
    CHECK_FALSE(rows[1].row.open);
  }
  SUBCASE("an infinite sink") {
    Plain plain(random, 1, 5, Draw::normal, Draw::normal);
    plain.extra.sink = tensor_of({1}, {infinity}, ElementType::binary64);
    CHECK(run_filter(plain.problem(), {})[0].row.open);
  }
  SUBCASE("a bias of -1e308 on every key") {
    Plain plain(random, 1, 5, Draw::normal, Draw::normal);
    plain.extra.attn_mask =
        tensor_of({1, 5}, std::vector<double>(5, -1e308), ElementType::binary64);
    CHECK(run_filter(plain.problem(), {})[0].row.open);
  }
}

TEST_CASE("filter: a sink of minus infinity is no sink, and a sink alone gives zero") {
  Random random(12);
  Plain plain(random, 3, 5, Draw::normal, Draw::normal);
  plain.contract.causal = true;
  plain.contract.causal_alignment = CausalAlignment::bottom_right;
  plain.queries = 7;  // rows 0 and 1 see nothing
  plain.query = draw(random, Draw::normal, 7 * 8);
  const auto without = run_filter(plain.problem(), {});
  plain.extra.sink = tensor_of({1}, {-infinity}, ElementType::binary64);
  const auto nothing = run_filter(plain.problem(), {});
  plain.extra.sink = tensor_of({1}, {1.5}, ElementType::binary64);
  const auto with = run_filter(plain.problem(), {});
  REQUIRE(without.size() == 7);
  for (std::size_t r = 0; r < 7; ++r) {
    CAPTURE(r);
    CHECK(nothing[r].output == without[r].output);
    CHECK(nothing[r].row.empty == (r < 2));
    CHECK_FALSE(with[r].row.empty);
    CHECK_FALSE(with[r].row.open);
  }
  CHECK(with[0].output == std::vector<double>(4, 0.0));
  CHECK(with[0].row.lse == 1.5);
}

TEST_CASE("filter: finite fill values hide keys without widening the radius") {
  Random random(8);
  for (const double fill : {-1e4, -1e9, -3.4e38, -1.7e308}) {
    for (const bool left : {true, false}) {
      Plain plain(random, 3, 64, Draw::normal, Draw::normal);
      std::vector<double> bias(64, 0.0);
      for (std::size_t j = 0; j < 32; ++j) bias[left ? j : 63 - j] = fill;
      plain.extra.attn_mask = tensor_of({1, 64}, bias, ElementType::binary64);
      FilterOptions options;
      options.key_block = 16;
      Ledger ledger;
      check_problem(plain.problem(), options, ledger);
      CAPTURE(fill);
      CHECK(ledger.open == 0);
      for (const Certified& row : run_filter(plain.problem(), options)) {
        CHECK(row.row.epsilon < 1e-12);
      }
    }
  }
}

TEST_CASE("filter: results are the same bits for one thread, two, and tiles one by one") {
  Random random(9);
  const Plain plain(random, 70, 300, Draw::normal, Draw::normal);
  FilterOptions options;
  options.tile_rows = 16;
  options.key_segment = 256;
  const AttentionProblem problem = plain.problem();
  const auto by_row = [&](const std::vector<Certified>& rows) {
    std::map<std::int64_t, std::vector<double>> result;
    for (const Certified& row : rows) result[row.row.row] = row.output;
    return result;
  };
  options.threads = 1;
  const auto expected = by_row(run_filter(problem, options));
  options.threads = 2;
  CHECK(by_row(run_filter(problem, options)) == expected);
  std::map<std::int64_t, std::vector<double>> pieces;
  const std::int64_t tiles = filter_tile_count(problem, options);
  CHECK(tiles == 5);
  for (std::int64_t t = 0; t < tiles; ++t) {
    options.tiles = std::vector<std::int64_t>{t};
    pieces.merge(by_row(run_filter(problem, options)));
  }
  CHECK(pieces == expected);
}

TEST_CASE("filter: bad options are refused by name") {
  Random random(1);
  const Plain plain(random, 1, 1, Draw::normal, Draw::normal);
  const AttentionProblem problem = plain.problem();
  const auto refused = [&](const FilterOptions& options, const std::string& where) {
    test::check_error([&] { filter_reference(problem, options, [](const FilterTile&) {}); },
                      "filter.options", where);
  };
  refused({.tile_rows = 0}, "tile_rows");
  refused({.key_block = 24}, "key_block");
  refused({.key_block = 256, .key_segment = 16}, "key_segment");
  refused({.model_terms = true, .radius = false}, "model_terms");
  refused({.threads = -1}, "threads");
}
