// The filter's radius against balls at 256 bits: it must contain the exact value, always.
#include "gqa/audit/filter/filter.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

#include "audit/filter_check.hpp"
#include "audit/filter_problems.hpp"

namespace {

using namespace gqa_test;

// GQA_TEST_MULTIPLIER=100 checks more than 10^5 rows.
std::int64_t multiplier() {
  const char* text = std::getenv("GQA_TEST_MULTIPLIER");
  return text == nullptr ? 1 : std::max(1L, std::atol(text));
}

}  // namespace

TEST_CASE("filter: the radius contains the exact value, for random problems of every kind") {
  Ledger ledger;
  const std::int64_t problems = 120 * multiplier();
  for (std::int64_t seed = 0; seed < problems; ++seed) {
    Random random(static_cast<std::uint64_t>(seed));
    CAPTURE(seed);
    const RandomProblem drawn(random);
    CAPTURE(drawn.description);
    const AttentionProblem problem = make_problem(drawn.tensors, drawn.contract);
    check_problem(problem, random_options(random), ledger);
  }
  ledger.print("random problems");
  // Scores of 30^2 sqrt(dk) are still within the filter's reach.
  CHECK(ledger.open * 10 <= ledger.rows);
}

TEST_CASE("filter: the radius contains the exact value with 10^4 keys, in one part and in many") {
  Ledger ledger;
  for (std::int64_t seed = 0; seed < 2 * multiplier(); ++seed) {
    Random random(static_cast<std::uint64_t>(seed));
    CAPTURE(seed);
    const Plain plain(random, 3, 10000, seed % 2 == 0 ? Draw::normal : Draw::huge, Draw::uniform);
    FilterOptions options;
    check_problem(plain.problem(), options, ledger);
    options.key_segment = 512;
    options.model_terms = true;
    check_problem(plain.problem(), options, ledger);
  }
  ledger.print("10^4 keys");
  CHECK(ledger.open == 0);
}

TEST_CASE("filter: scores that climb block by block raise the shift and stay enclosed") {
  Ledger ledger;
  for (const double slope : {0.1, 1.0, 7.0, 90.0, 2000.0}) {
    for (const bool ascending : {true, false}) {
      Random random(7);
      CAPTURE(slope);
      Plain plain(random, 2, 200, Draw::normal, Draw::normal);
      for (std::int64_t j = 0; j < plain.keys; ++j) {
        const auto step = static_cast<double>(ascending ? j : plain.keys - j);
        plain.key[static_cast<std::size_t>(j * plain.dk)] += slope * step;
      }
      for (std::int64_t i = 0; i < plain.queries; ++i) {
        plain.query[static_cast<std::size_t>(i * plain.dk)] = 1;
      }
      FilterOptions options;
      options.key_block = 16;
      options.model_terms = true;
      check_problem(plain.problem(), options, ledger);
      options.key_segment = 32;
      check_problem(plain.problem(), options, ledger);
    }
  }
  ledger.print("climbing scores");
  CHECK(ledger.open == 0);
}

TEST_CASE("filter: cancelling scores and values keep a radius that contains the exact value") {
  Ledger ledger;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    CAPTURE(seed);
    Plain plain(random, 4, 64, Draw::normal, Draw::normal);
    // Products of 1e4 that cancel to scores of about 1, and values that cancel in pairs.
    for (std::size_t r = 0; r < plain.key.size(); r += 8) {
      plain.key[r + 1] = -plain.key[r] + 1e-4 * plain.key[r + 2];
    }
    for (std::size_t r = 0; r < plain.query.size(); r += 8) {
      plain.query[r] = plain.query[r + 1] = 1e4;
    }
    for (std::size_t i = 0; i + 8 <= plain.value.size(); i += 8) {
      for (std::size_t c = 0; c < 4; ++c) plain.value[i + 4 + c] = -plain.value[i + c];
    }
    check_problem(plain.problem(), FilterOptions{}, ledger);
  }
  ledger.print("cancellation");
  CHECK(ledger.open == 0);
}
