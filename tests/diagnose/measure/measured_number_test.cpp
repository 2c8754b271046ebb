// Digits that are known, and numbers that have a name.
#include "gqa/diagnose/measure/measured_number.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "support/random.hpp"

using namespace gqa;

TEST_CASE("measured_number: as many digits as are known, the shortest number of them") {
  CHECK(known_digits({36.8931, 0.02}) == "36.9");
  CHECK(known_digits({36.8931, 0.001}) == "36.893");
  CHECK(known_digits({0.02714, 0.00005}) == "0.0271");
  CHECK(known_digits({-217.3, 0.5}) == "-217");
  CHECK(known_digits({0.1, 0}) == "0.1");
  CHECK(known_digits({1000.02, 0.1}) == "1000");
}

TEST_CASE("measured_number: names are given where the number is known well enough for them") {
  const std::vector<std::int64_t> sizes{96, 8};
  CHECK(describe({1.991, 0.02}, sizes) == "2");
  CHECK(describe({2.04, 0.02}, sizes) == "2.04");  // 2 is out of reach
  CHECK(describe({1 / std::sqrt(96.0), 1e-6}, sizes) == "1/sqrt(96)");
  CHECK(describe({1 / std::sqrt(97.0), 1e-6}, sizes) == "0.101535");
  CHECK(describe({1.4427, 1e-4}, sizes) == "log2 e");
  CHECK(describe({-0.6931, 1e-4}, sizes) == "-ln 2");
  CHECK(describe({0.375, 1e-6}, sizes) == "3/8");
  // Known to a twentieth, anything would have a name.
  CHECK(recognised({1.0, 0.05}, sizes).empty());
  CHECK(recognised({1.4427, 0.01}, sizes).empty());
}

TEST_CASE("measured_number: a factor is within what is said of it, rows erring together or not") {
  int outside = 0;
  for (const std::uint64_t seed : test::seeds(400)) {
    test::Random random(seed);
    const double factor = random.uniform(0.1, 10);
    FactorFit fit;
    for (int row = 0; row < 24; ++row) {
      const double common = 1e-3 * random.normal();
      for (int c = 0; c < 16; ++c) {
        const double reference = random.normal();
        fit.add(reference, factor * reference * (1 + common + 1e-3 * random.normal()));
      }
      fit.end_row();
    }
    const auto found = fit.factor(0x1p-24);
    REQUIRE(found.has_value());
    outside += found->allows(factor) ? 0 : 1;
    CHECK(found->uncertainty < 0.01 * factor);
  }
  CHECK(outside <= 1);
  CHECK_FALSE(FactorFit().factor(0).has_value());
}
