#include "gqa/num/weighted_mean.hpp"

#include <doctest/doctest.h>

#include <numeric>

#include "gqa/num/word_fraction.hpp"
#include "support/random.hpp"

using namespace gqa;

namespace {

// The definition, term by term.
Rational naive_mean(const std::vector<Rational>& values, std::size_t columns, std::size_t column,
                    const std::vector<Rational>& weights, const std::vector<std::size_t>& rows,
                    const Rational& extra) {
  Rational sum = 0;
  Rational total = extra;
  for (const std::size_t row : rows) {
    sum += weights[row] * values[row * columns + column];
    total += weights[row];
  }
  return sum / total;
}

std::vector<Rational> means_of(const std::vector<Rational>& values, std::size_t rows,
                               std::size_t columns, const std::vector<Rational>& weights,
                               const std::vector<std::size_t>& used, const Rational& extra) {
  // What was there before must not matter.
  std::vector<Rational> means(columns, make_rational(-7, 3));
  ClearedColumns(values, rows, columns).means(weights, used, extra, means);
  return means;
}

// A power of two that puts a number inside, at, or far beyond the machine-word lane.
Rational lane_factor(test::Random& random) {
  return power_of_two(random.pick<long>({0, 0, 40, 45, 46, 47, 62, 63, 64, 130}));
}

}  // namespace

TEST_CASE("weighted_mean: equals the term-by-term mean of the rows named, exactly") {
  for (const std::uint64_t seed : test::seeds(150)) {
    test::Random random(seed);
    const auto rows = static_cast<std::size_t>(random.integer(1, 12));
    const auto columns = static_cast<std::size_t>(random.integer(1, 5));
    std::vector<Rational> values;
    std::vector<Rational> weights;
    std::vector<std::size_t> used;
    const Rational value_factor = lane_factor(random);
    const Rational weight_factor = lane_factor(random);
    for (std::size_t i = 0; i < rows * columns; ++i) {
      values.push_back(random.rational() * value_factor);
    }
    for (std::size_t r = 0; r < rows; ++r) {
      weights.push_back((abs(random.rational()) + make_rational(1, 3)) * weight_factor);
      if (!random.one_in(3)) used.push_back(r);
    }
    const Rational extra = random.one_in(2) ? Rational(0) : Rational(abs(random.rational()) + 1);
    if (used.empty()) used.push_back(0);
    const auto means = means_of(values, rows, columns, weights, used, extra);
    for (std::size_t c = 0; c < columns; ++c) {
      CAPTURE(seed);
      CAPTURE(c);
      CHECK(means[c] == naive_mean(values, columns, c, weights, used, extra));
      Rational canonical = means[c];
      canonical.canonicalize();
      CHECK(canonical.get_den() == means[c].get_den());
    }
  }
}

TEST_CASE("weighted_mean: a weight without a value draws the mean towards zero") {
  const std::vector<Rational> values{4, 0, 0, 8};
  const std::vector<Rational> weights{1, 1};
  const std::vector<std::size_t> rows{0, 1};
  const auto means = means_of(values, 2, 2, weights, rows, 2);
  CHECK(means == std::vector<Rational>{1, 2});
}

TEST_CASE("weighted_mean: no row and an extra weight give zero") {
  const std::vector<Rational> values{4, 0};
  const auto means = means_of(values, 1, 2, {1}, {}, 1);
  CHECK(means == std::vector<Rational>{0, 0});
}

TEST_CASE("weighted_mean: the largest small numbers do not overflow the machine words") {
  const Rational largest = power_of_two(46) - 1;
  const std::size_t rows = 100;
  const std::vector<Rational> values(rows, largest);
  const std::vector<Rational> weights(rows, largest);
  std::vector<std::size_t> used(rows);
  std::iota(used.begin(), used.end(), std::size_t{0});
  CHECK(means_of(values, rows, 1, weights, used, largest) ==
        std::vector<Rational>{largest * 100 / 101});
}

TEST_CASE("weighted_mean: the small lane ends where 2^46 begins, on both sides of zero") {
  CHECK(small_value(mpz_class(power_of_two(46) - 1)) == (std::int64_t{1} << 46) - 1);
  CHECK(small_value(mpz_class(1 - power_of_two(46))) == 1 - (std::int64_t{1} << 46));
  CHECK_FALSE(small_value(mpz_class(power_of_two(46))).has_value());
  CHECK_FALSE(small_value(mpz_class(-power_of_two(46))).has_value());
  CHECK_FALSE(small_value(mpz_class(power_of_two(64) + 1)).has_value());
  CHECK(small_value(mpz_class(0)) == 0);
}

TEST_CASE("weighted_mean: wide fractions are canonical, whatever their size") {
  for (const std::uint64_t seed : test::seeds(200)) {
    test::Random random(seed);
    CAPTURE(seed);
    const std::int64_t a = random.integer(-4'000'000'000, 4'000'000'000);
    const std::int64_t b = random.integer(1, 4'000'000'000);
    const std::int64_t c = random.integer(1, 4'000'000'000);
    const int shift = static_cast<int>(random.integer(0, 30));
    const WideInteger numerator = WideInteger{a} * c * (WideInteger{1} << shift);
    const WideInteger denominator = WideInteger{b} * c * (WideInteger{1} << shift);
    Rational result = make_rational(5, 9);
    set_fraction(result, numerator, denominator);
    CHECK(result ==
          make_rational(mpz_class(static_cast<long>(a)), mpz_class(static_cast<long>(b))));
  }
}
