#include "gqa/audit/enclose/enclosure.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "audit/audit_support.hpp"
#include "oracle/naive_attention.hpp"
#include "support/control_bits.hpp"
#include "support/numbers.hpp"
#include "support/random_problem.hpp"

using namespace gqa;
using gqa::test::infinity;
using gqa::test::SmallProblem;

namespace {

// One head, with or without everything that enters a score; the oracle's twin beside it.
struct Twin {
  SmallProblem problem;
  oracle::RealProblem oracle;
};

Twin random_twin(test::Random& random) {
  Twin twin;
  SmallProblem& p = twin.problem;
  oracle::RealProblem& o = twin.oracle;
  p.type = ElementType::binary64;
  p.queries = o.rules.queries = static_cast<int>(random.integer(1, 4));
  p.keys = o.rules.keys = static_cast<int>(random.integer(1, 8));
  p.key_size = o.rules.key_size = static_cast<int>(random.integer(1, 5));
  p.value_size = o.rules.value_size = static_cast<int>(random.integer(1, 3));
  o.rules.kv_head_of = {0};
  const auto operand = [&](std::vector<double>& mine, oracle::Array4<long double>& theirs,
                           std::int64_t rows, std::int64_t columns) {
    theirs = test::random_array<long double>(1, 1, static_cast<int>(rows),
                                             static_cast<int>(columns), [&] {
                                               mine.push_back(random.normal() * 2);
                                               return static_cast<long double>(mine.back());
                                             });
  };
  operand(p.query, o.query, p.queries, p.key_size);
  operand(p.key, o.key, p.keys, p.key_size);
  operand(p.value, o.value, p.keys, p.value_size);
  p.output.assign(static_cast<std::size_t>(p.queries * p.value_size), 0.0);
  o.scale = 1 / std::sqrt(static_cast<long double>(p.key_size));
  if (random.one_in(3)) {
    p.contract.scale = make_rational(3, 8);
    o.scale = 0.375L;
  }
  if (random.one_in(3)) {
    p.contract.softcap = make_rational(5, 2);
    o.softcap = 2.5L;
  }
  p.contract.causal = o.rules.causal = random.one_in(2);
  if (random.one_in(3)) p.contract.window.left = o.rules.left = 2;
  if (random.one_in(3)) {
    p.sink = {random.normal()};
    o.sink = {static_cast<long double>(p.sink[0])};
  }
  const bool masked = random.one_in(3);
  const bool sloped = random.one_in(3);
  if (sloped) p.slopes = {0.25};
  if (masked || sloped)
    o.bias = oracle::array4<long double>(1, 1, o.rules.queries, o.rules.keys, 0);
  if (masked) o.rules.mask = oracle::array4<char>(1, 1, o.rules.queries, o.rules.keys, 1);
  for (int i = 0; i < o.rules.queries; ++i) {
    for (int j = 0; j < o.rules.keys; ++j) {
      const auto row = static_cast<std::size_t>(i);
      const auto key = static_cast<std::size_t>(j);
      if (masked) {
        const bool hidden = random.one_in(4);
        p.mask.push_back(hidden ? -infinity : random.normal());
        o.rules.mask[0][0][row][key] = hidden ? 0 : 1;
        o.bias[0][0][row][key] = hidden ? 0 : static_cast<long double>(p.mask.back());
      }
      if (sloped) {
        o.bias[0][0][row][key] -= 0.25L * std::abs(oracle::position(o.rules, 0, i) - j);
      }
    }
  }
  return twin;
}

}  // namespace

TEST_CASE("enclosure: every element is within a hair of the oracle's long double") {
  for (const std::uint64_t seed : test::seeds(300)) {
    test::Random random(seed);
    const Twin twin = random_twin(random);
    const auto expected = oracle::attend(twin.oracle);
    const AttentionProblem problem = twin.problem.problem();
    const EnclosureReader reader(problem, 0, 0);
    CAPTURE(seed);
    for (std::int64_t i = 0; i < problem.dimensions.queries; ++i) {
      const auto row = static_cast<std::size_t>(i);
      const auto visible = reader.visible(0, i);
      CHECK(visible.empty() == (expected.empty[0][0][row] != 0));
      CHECK(reader.is_finite(0, i, visible));
      if (visible.empty()) continue;
      const auto result = reader.row(0, i, visible);
      for (std::size_t c = 0; c < result.output.size(); ++c) {
        // 2^-64 roundings, a few dozen of them, on numbers of size 10.
        const double theirs = static_cast<double>(expected.output[0][0][row][c]);
        CHECK(std::abs(result.output[c].midpoint_double() - theirs) < 1e-14);
        CHECK(result.output[c].upper_double() - result.output[c].lower_double() < 1e-14);
      }
    }
  }
}

TEST_CASE("enclosure: the ball contains what 4 times the precision gives, at any precision") {
  for (const std::uint64_t seed : test::seeds(100)) {
    test::Random random(seed);
    const Twin twin = random_twin(random);
    const AttentionProblem problem = twin.problem.problem();
    const EnclosureReader reader(problem, 0, 0);
    const auto visible = reader.visible(0, 0);
    if (visible.empty()) continue;
    CAPTURE(seed);
    for (const long bits : {20L, 53L, 128L}) {
      const PrecisionScope coarse(bits);
      const auto result = reader.row(0, 0, visible);
      const PrecisionScope fine(4 * bits + 100);
      const auto finer = reader.row(0, 0, visible);
      for (std::size_t c = 0; c < result.output.size(); ++c) {
        CHECK(result.output[c].contains(finer.output[c].lower()));
        CHECK(result.output[c].contains(finer.output[c].upper()));
      }
    }
  }
}

TEST_CASE("enclosure: of some columns the balls are those of all, the others are no numbers") {
  for (const std::uint64_t seed : test::seeds(50)) {
    test::Random random(seed);
    const Twin twin = random_twin(random);
    const AttentionProblem problem = twin.problem.problem();
    const EnclosureReader reader(problem, 0, 0);
    const auto visible = reader.visible(0, 0);
    const std::int64_t width = problem.dimensions.value_size;
    if (visible.empty() || width < 2) continue;
    CAPTURE(seed);
    const auto all = reader.row(0, 0, visible);
    const std::int64_t column = random.integer(0, width - 1);
    const auto some = reader.row(0, 0, visible, std::span(&column, 1));
    REQUIRE(some.output.size() == all.output.size());
    for (std::int64_t c = 0; c < width; ++c) {
      const auto at = static_cast<std::size_t>(c);
      CHECK(some.output[at].is_finite() == (c == column));
      if (c == column) CHECK(to_text(some.output[at]) == to_text(all.output[at]));
    }
  }
}

TEST_CASE("enclosure: contains the exact mean where the scores are equal, sinks included") {
  for (const std::uint64_t seed : test::seeds(200)) {
    test::Random random(seed);
    SmallProblem p;
    p.type = ElementType::binary64;
    p.keys = random.integer(1, 9);
    p.query = {0};
    p.output = {0};
    Rational sum = 0;
    for (std::int64_t j = 0; j < p.keys; ++j) {
      p.key.push_back(random.normal());
      p.value.push_back(random.corner_double());
      sum += Rational(p.value.back());
    }
    std::int64_t members = p.keys;
    if (random.one_in(2)) {
      p.sink = {0};
      ++members;
    }
    const Rational mean = sum / static_cast<long>(members);
    const AttentionProblem problem = p.problem();
    const EnclosureReader reader(problem, 0, 0);
    const auto visible = reader.visible(0, 0);
    CAPTURE(seed);
    CHECK(reader.row(0, 0, visible).output[0].contains(mean));
    CHECK(reader.rational_output(0, 0, visible, 0) == mean);
  }
}

TEST_CASE("enclosure: the rounding summary is that of the visible keys") {
  SmallProblem p;
  p.type = ElementType::binary64;
  p.keys = 3;
  p.key_size = 2;
  p.query = {3, 4};
  p.key = {1, 0, 9, 9, 0, 2};
  p.value = {1, 2, 3};
  p.output = {0};
  p.mask = {0, -infinity, 0};
  p.sink = {0};
  const AttentionProblem problem = p.problem();
  const EnclosureReader reader(problem, 0, 0);
  const auto visible = reader.visible(0, 0);
  REQUIRE(visible == std::vector<std::size_t>{0, 2});
  const auto result = reader.row(0, 0, visible);
  const RowRounding rounding = reader.rounding(f32_model, 0, 0, visible, result);
  CHECK(rounding.key_size == 2);
  CHECK(rounding.visible == 2);
  CHECK(rounding.query_norm2.contains(5));
  CHECK(less_equal(abs(rounding.query_norm4_squared * rounding.query_norm4_squared - Ball(337)),
                   Ball(1e-30)) == Uncertain::yes());
  CHECK(rounding.key_norm2[1].contains(2));
  CHECK(rounding.key_norm4_squared[1].contains(4));
  CHECK_FALSE(rounding.plain);  // a float mask is a bias
  Ball total = *rounding.sink_weight;
  for (const Ball& weight : rounding.weights) total += weight;
  CHECK(total.contains(1));
  CHECK(reader.value_column(visible, 0)[1]->contains(3));
}

#ifdef __SSE2__
TEST_CASE("enclosure: a thread that flushes subnormal operands is refused, not believed") {
  SmallProblem small;
  small.type = ElementType::binary32;
  small.queries = small.keys = small.key_size = small.value_size = 1;
  small.query = small.key = {1};
  small.value = {0x1p-140};
  small.output = {0};
  const AttentionProblem problem = small.problem();
  bool refused = false;
  {
    const test::ControlBits flushed(test::flush_operands);
    try {
      const EnclosureReader reader(problem, 0, 0);
    } catch (const std::runtime_error&) {
      refused = true;
    }
  }
  CHECK(refused);
}
#endif
