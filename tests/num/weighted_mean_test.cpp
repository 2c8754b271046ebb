#include "gqa/num/weighted_mean.hpp"

#include <doctest/doctest.h>

#include <numeric>

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

}  // namespace

TEST_CASE("weighted_mean: equals the term-by-term mean of the rows named, exactly") {
  for (const std::uint64_t seed : test::seeds(150)) {
    test::Random random(seed);
    const auto rows = static_cast<std::size_t>(random.integer(1, 12));
    const auto columns = static_cast<std::size_t>(random.integer(1, 5));
    std::vector<Rational> values;
    std::vector<Rational> weights;
    std::vector<std::size_t> used;
    for (std::size_t i = 0; i < rows * columns; ++i) values.push_back(random.rational());
    for (std::size_t r = 0; r < rows; ++r) {
      weights.push_back(abs(random.rational()) + make_rational(1, 3));
      if (!random.one_in(3)) used.push_back(r);
    }
    const Rational extra = random.one_in(2) ? Rational(0) : Rational(abs(random.rational()) + 1);
    if (used.empty()) used.push_back(0);
    const auto means = weighted_means(ClearedColumns(values, rows, columns), weights, used, extra);
    REQUIRE(means.size() == columns);
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
  const auto means = weighted_means(ClearedColumns(values, 2, 2), weights, rows, 2);
  CHECK(means == std::vector<Rational>{1, 2});
}

TEST_CASE("weighted_mean: no row and an extra weight give zero") {
  const std::vector<Rational> values{4, 0};
  const auto means = weighted_means(ClearedColumns(values, 1, 2), std::vector<Rational>{1}, {}, 1);
  CHECK(means == std::vector<Rational>{0, 0});
}

TEST_CASE("weighted_mean: cleared columns keep every value on its column's denominator") {
  const std::vector<Rational> values{make_rational(1, 2), 3, make_rational(-2, 3), 0};
  const ClearedColumns cleared(values, 2, 2);
  CHECK(cleared.rows() == 2);
  CHECK(cleared.columns() == 2);
  CHECK(cleared.denominator(0) == 6);
  CHECK(cleared.denominator(1) == 1);
  CHECK(cleared.numerator(0, 0) == 3);
  CHECK(cleared.numerator(1, 0) == -4);
  CHECK(cleared.numerator(0, 1) == 3);
  CHECK(cleared.numerator(1, 1) == 0);
}

TEST_CASE("weighted_mean: cleared weights have the proportions of the weights") {
  const std::vector<Rational> weights{make_rational(3, 4), make_rational(1, 6), 2};
  const ClearedWeights cleared = clear_denominators(weights);
  CHECK(cleared.common == 12);
  CHECK(cleared.numerators == std::vector<mpz_class>{9, 2, 24});
}
