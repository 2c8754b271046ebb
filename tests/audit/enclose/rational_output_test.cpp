#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "audit/audit_support.hpp"
#include "gqa/audit/enclose/enclosure.hpp"
#include "support/random.hpp"

using namespace gqa;
using gqa::test::SmallProblem;

namespace {

std::optional<Rational> rational_output(const SmallProblem& p) {
  const AttentionProblem problem = p.problem();
  const EnclosureReader reader(problem, 0, 0);
  return reader.rational_output(0, 0, reader.visible(0, 0), 0);
}

// One query of 1 against one-dimensional keys.
SmallProblem keys_and_values(std::vector<double> keys, std::vector<double> values) {
  SmallProblem p;
  p.type = ElementType::binary64;
  p.keys = static_cast<std::int64_t>(keys.size());
  p.query = {1};
  p.key = std::move(keys);
  p.value = std::move(values);
  p.output = {0};
  return p;
}

}  // namespace

TEST_CASE("rational_output: equal scores give the mean, equal values give the value") {
  CHECK(rational_output(keys_and_values({2, 2, 2}, {1, 2, 4})) == make_rational(7, 3));
  CHECK(rational_output(keys_and_values({1, 2, 3}, {5, 5, 5})) == Rational(5));
  CHECK(rational_output(keys_and_values({7}, {0.1})) == Rational(0.1));
}

TEST_CASE("rational_output: different scores are rational only if every group has one mean") {
  CHECK_FALSE(rational_output(keys_and_values({1, 2}, {1, 2})).has_value());
  CHECK(rational_output(keys_and_values({1, 2, 1, 2}, {1, 0, 3, 4})) == Rational(2));
  CHECK_FALSE(rational_output(keys_and_values({1, 2, 1, 2}, {1, 0, 3, 5})).has_value());
}

TEST_CASE("rational_output: scores one unit in the last place apart are different scores") {
  CHECK_FALSE(rational_output(keys_and_values({1, 1 + 0x1p-52}, {0, 1})).has_value());
  // The products 3 * 0.1 and 0.3 * 1 differ, though both print as 0.3.
  SmallProblem p = keys_and_values({}, {});
  p.keys = 2;
  p.key_size = 2;
  p.query = {3, 1};
  p.key = {0.1, 0, 0, 0.3};
  p.value = {0, 1};
  CHECK_FALSE(rational_output(p).has_value());
}

TEST_CASE("rational_output: a sink is one more key of value 0, in the group of its score") {
  SmallProblem p = keys_and_values({0, 0}, {3, 6});
  p.sink = {0};
  CHECK(rational_output(p) == Rational(3));
  p.sink = {1};
  CHECK_FALSE(rational_output(p).has_value());
  p.value = {1, -1};  // every group's mean is 0, the lonely sink's too
  CHECK(rational_output(p) == Rational(0));
  p.key = {1, 2};
  CHECK_FALSE(rational_output(p).has_value());
}

TEST_CASE("rational_output: a sink meets keys through 1/sqrt(dk) only where that is rational") {
  SmallProblem p;
  p.type = ElementType::binary64;
  p.keys = 1;
  p.key_size = 4;
  p.query = {2, 0, 0, 0};
  p.key = {1, 0, 0, 0};  // score 2 / sqrt(4) = 1
  p.value = {6};
  p.output = {0};
  p.sink = {1};
  CHECK(rational_output(p) == Rational(3));
  p.key_size = 2;
  p.query = {2, 0};
  p.key = {1, 0};  // score sqrt(2): no rational sink equals it
  p.sink = {1.4142135623730951};
  CHECK_FALSE(rational_output(p).has_value());
  p.query = {0, 0};
  p.sink = {0};
  CHECK(rational_output(p) == Rational(3));
}

TEST_CASE("rational_output: bias joins or parts the groups") {
  SmallProblem p = keys_and_values({0, 1}, {2, 4});
  p.mask = {1, 0};
  CHECK(rational_output(p) == Rational(3));
  p.mask = {0, 0};
  CHECK_FALSE(rational_output(p).has_value());
  p.mask = {-std::numeric_limits<double>::infinity(), 0};
  CHECK(rational_output(p) == Rational(4));
  p.mask.clear();
  p.slopes = {1};  // position 1: biases -1 and 0
  p.key = {1, 0};
  CHECK(rational_output(p) == Rational(3));
}

TEST_CASE("rational_output: a bias of more bits than any precision is exact") {
  // ALiBi at distances 2, 1, 0 on a mask: scores -2^e - 2^-59, 0 and 0. The groups' means are both
  // 1/2, but the first score has e + 60 bits.
  for (const int exponent : {0, 60, 70, 80, 500}) {
    CAPTURE(exponent);
    SmallProblem p = keys_and_values({1, 1, 1}, {0.5, 0.25, 0.75});
    p.query = {0};
    p.contract.causal_alignment = CausalAlignment::bottom_right;
    p.mask = {-std::ldexp(1.0, exponent), 0x1p-60, 0};
    p.slopes = {0x1p-60};
    CHECK(rational_output(p) == make_rational(1, 2));
    p.mask[1] = 0x1p-61;  // no longer equal to the third
    CHECK_FALSE(rational_output(p).has_value());
  }
}

TEST_CASE("rational_output: a stated scale keeps the scores rational") {
  SmallProblem p = keys_and_values({3, 0}, {2, 4});
  p.contract.scale = make_rational(1, 3);
  p.mask = {0, 1};
  CHECK(rational_output(p) == Rational(3));
}

TEST_CASE("rational_output: under a softcap nothing is claimed") {
  SmallProblem p = keys_and_values({2, 2}, {1, 3});
  p.contract.softcap = 1;
  CHECK_FALSE(rational_output(p).has_value());
}

TEST_CASE("rational_output: what is claimed lies in the enclosure, on random tied problems") {
  int claimed = 0;
  for (const std::uint64_t seed : test::seeds(400)) {
    test::Random random(seed);
    SmallProblem p;
    p.type = ElementType::binary64;
    p.keys = random.integer(1, 5);
    p.key_size = random.integer(1, 4);
    const auto digit = [&] { return static_cast<double>(random.integer(-1, 1)); };
    for (std::int64_t t = 0; t < p.key_size; ++t) p.query.push_back(digit());
    for (std::int64_t t = 0; t < p.keys * p.key_size; ++t) p.key.push_back(digit());
    for (std::int64_t j = 0; j < p.keys; ++j) p.value.push_back(digit());
    p.output = {0};
    if (random.one_in(3)) p.sink = {digit()};
    if (random.one_in(3)) p.slopes = {digit()};
    const auto claim = rational_output(p);
    const AttentionProblem problem = p.problem();
    const EnclosureReader reader(problem, 0, 0);
    const PrecisionScope precision(400);
    const Ball ball = reader.row(0, 0, reader.visible(0, 0)).output[0];
    CAPTURE(seed);
    if (claim) {
      ++claimed;
      CHECK(ball.contains(*claim));
    } else {
      // Irrational: no rational of small denominator may be inside a ball this narrow.
      for (long q = 1; q <= 6; ++q) {
        for (long n = -q; n <= q; ++n) CHECK_FALSE(ball.contains(make_rational(n, q)));
      }
    }
  }
  CHECK(claimed > test::of_all_seeds(50));
}
