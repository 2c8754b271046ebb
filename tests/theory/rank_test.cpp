#include "gqa/theory/rank.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "gqa/theory/rank_witness.hpp"
#include "gqa/theory/rational_rank.hpp"
#include "support/errors.hpp"
#include "support/random.hpp"

using namespace gqa;

namespace {

RankConfiguration group(std::int64_t group_size, std::int64_t positions, std::int64_t value_size) {
  RankConfiguration c;
  c.group_size = group_size;
  c.positions = positions;
  c.value_size = c.key_size = value_size;
  return c;
}

std::int64_t proved_rank(const RankReport& report, const std::string& quantity) {
  for (const GenericRank& rank : report.ranks) {
    if (rank.quantity == quantity) return rank.proved() ? rank.upper : -1;
  }
  return -2;
}

RankConfiguration random_configuration(test::Random& random) {
  RankConfiguration c = group(random.integer(1, 4), random.integer(1, 14), random.integer(1, 4));
  c.key_size = random.integer(1, 5);
  if (random.one_in(2)) c.model_size = random.integer(1, 6);
  c.causal = random.one_in(2);
  if (random.one_in(3)) c.window = random.integer(3, 6);
  c.tied = random.one_in(4);
  c.constant_column = random.one_in(4);
  c.softmax_reachable = random.one_in(2);
  return c;
}

// [N, G d_v] from the formula of attention/, in rationals.
Tensor<Rational> exact_stack(const RankConfiguration& c, const Problem<GmpNumbers>& problem) {
  const auto result = attention(problem, Wanted::output);
  Tensor<Rational> stack({1, 1, c.positions, c.group_size * c.value_size});
  for (std::int64_t h = 0; h < c.group_size; ++h) {
    const auto head = result.output.matrix(0, h);
    for (std::size_t i = 0; i < head.rows(); ++i) {
      std::ranges::copy(
          head.row(i),
          stack.matrix(0, 0).row(i).subspan(static_cast<std::size_t>(h * c.value_size)).begin());
    }
  }
  return stack;
}

}  // namespace

TEST_CASE("rank: eight heads of sixteen on 128 positions have 16 values and 128 outputs") {
  const RankReport report = generic_ranks(group(8, 128, 16));
  CHECK(report.proved());
  CHECK(proved_rank(report, "values, shared") == 16);
  CHECK(proved_rank(report, "values, one history per head") == 128);
  CHECK(proved_rank(report, "stacked output, shared values") == 128);
  CHECK(proved_rank(report, "stacked output, one history per head") == 128);
  RankConfiguration tied = group(8, 128, 16);
  tied.tied = true;
  const RankReport other = generic_ranks(tied);
  CHECK(other.proved());
  CHECK(proved_rank(other, "stacked output, shared values") == 16);
  CHECK(proved_rank(other, "stacked output, one history per head") == 128);
}

TEST_CASE("rank: a constant column in the values leaves rank 5 of 8") {
  RankConfiguration c = group(4, 12, 2);
  c.constant_column = true;
  const RankReport report = generic_ranks(c);
  CHECK(report.proved());
  CHECK(proved_rank(report, "stacked output, shared values") == 5);
  c.constant_column = false;
  CHECK(proved_rank(generic_ranks(c), "stacked output, shared values") == 8);
}

TEST_CASE("rank: the summed output is bounded by the model's width as well") {
  RankConfiguration c = group(4, 40, 8);
  for (const auto& [model, expected] : {std::pair{10, 10}, {32, 32}, {64, 32}}) {
    CAPTURE(model);
    c.model_size = model;
    const RankReport report = generic_ranks(c);
    CHECK(report.proved());
    CHECK(proved_rank(report, "summed output, shared values") == expected);
  }
}

TEST_CASE("rank: sharing keys keeps the rank along the heads, not that along the keys") {
  const RankReport report = generic_ranks(group(4, 20, 3));
  CHECK(proved_rank(report, "scores along the heads, shared keys") == 4);
  CHECK(proved_rank(report, "scores along the keys, shared") == 3);
  CHECK(proved_rank(report, "scores along the keys, one history per head") == 12);
}

TEST_CASE("rank: causal, windowed and softmax-reachable patterns have the same generic rank") {
  RankConfiguration c = group(4, 40, 5);
  for (const bool reachable : {false, true}) {
    for (const std::int64_t key_size : {1, 3, 8}) {
      for (const bool causal : {false, true}) {
        for (const std::int64_t window : {0, 4}) {
          CAPTURE(reachable);
          CAPTURE(key_size);
          CAPTURE(causal);
          CAPTURE(window);
          c.softmax_reachable = reachable;
          c.key_size = key_size;
          c.causal = causal;
          c.window = window > 0 ? std::optional(window) : std::nullopt;
          CHECK(proved_rank(generic_ranks(c), "stacked output, shared values") == 20);
        }
      }
    }
  }
}

TEST_CASE("rank: a window of one key ties all patterns, and the bound is not claimed") {
  RankConfiguration c = group(4, 40, 5);
  c.window = 1;
  const RankReport report = generic_ranks(c);
  CHECK_FALSE(report.proved());
  CHECK(proved_rank(report, "stacked output, shared values") == -1);
}

TEST_CASE("rank witness: the modular outputs are those of exact attention, reduced") {
  for (const std::uint64_t seed : test::seeds(40)) {
    CAPTURE(seed);
    test::Random random(seed);
    const RankConfiguration c = random_configuration(random);
    INFO(describe(c));
    const RankWitness witness(c, seed);
    std::vector<std::size_t> rows(static_cast<std::size_t>(c.positions));
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    const auto modular = witness.stacked_outputs(rows);
    REQUIRE(modular.has_value());
    const Tensor<Rational> exact = exact_stack(c, witness.problem());
    const auto reduced = reduce(exact.matrix(0, 0));
    REQUIRE(reduced.has_value());
    for (std::size_t r = 0; r < rows.size(); ++r) {
      CHECK(std::ranges::equal(modular->row(r), reduced->row(r)));
    }
    // No witness may exceed the bound that the dimension count claims for it.
    if (!c.model_size) {
      const auto rank = static_cast<std::int64_t>(rational_rank(exact.matrix(0, 0)));
      for (const GenericRank& bound : generic_ranks(c).ranks) {
        if (bound.quantity == "stacked output, shared values") CHECK(rank <= bound.upper);
      }
    }
  }
}

TEST_CASE("rank: lower bounds never exceed upper ones on random configurations") {
  for (const std::uint64_t seed : test::seeds(80)) {
    CAPTURE(seed);
    test::Random random(seed);
    const RankConfiguration c = random_configuration(random);
    INFO(describe(c));
    for (const GenericRank& rank : generic_ranks(c, seed).ranks) {
      INFO(rank.quantity);
      CHECK(rank.lower <= rank.upper);
      CHECK(rank.upper <= std::min(rank.rows, rank.columns));
      CHECK(rank.proved());
    }
  }
}

TEST_CASE("rank: extents and windows out of range are refused by name") {
  const auto refusal = [](auto change) {
    RankConfiguration c = group(4, 12, 2);
    change(c);
    return test::refusal_of([&] { generic_ranks(c); });
  };
  CHECK(refusal([](auto& c) { c.group_size = 0; }) == "rank.extent at group_size");
  CHECK(refusal([](auto& c) { c.positions = -1; }) == "rank.extent at positions");
  CHECK(refusal([](auto& c) { c.value_size = 65537; }) == "rank.extent at value_size");
  CHECK(refusal([](auto& c) { c.key_size = 0; }) == "rank.extent at key_size");
  CHECK(refusal([](auto& c) { c.model_size = 0; }) == "rank.extent at model_size");
  CHECK(refusal([](auto& c) { c.window = 0; }) == "rank.window at window");
  CHECK(refusal([](auto& c) { c.positions = c.value_size = 65536; }) ==
        "rank.too_large at positions");
  CHECK(refusal([](auto&) {}) == "none");
}

TEST_CASE("rank: 2048 positions of eight heads of 128 are proved in seconds") {
  const auto start = std::chrono::steady_clock::now();
  CHECK(generic_ranks(group(8, 2048, 128)).proved());
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  MESSAGE("N = 2048, d_v = 128, G = 8: ", seconds, " s");
  CHECK(seconds < 60);  // ample for a loaded machine; the target is 5
}
