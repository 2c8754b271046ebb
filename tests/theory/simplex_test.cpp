#include "gqa/theory/simplex.hpp"

#include <doctest/doctest.h>

#include "support/random.hpp"

using namespace gqa;

namespace {

Rational inner_product(const RationalVector& a, const RationalVector& b) {
  Rational sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

TEST_CASE("simplex: a worked optimum, an infeasible and an unbounded problem") {
  // max 3x + 2y with x + y + s = 4, x + 3y + t = 6: at (4, 0).
  const RationalMatrix rows{{1, 1, 1, 0}, {1, 3, 0, 1}};
  const SimplexResult best = maximise(rows, {4, 6}, {3, 2, 0, 0});
  CHECK(best.feasible);
  CHECK(best.value == 12);
  CHECK(best.solution == RationalVector{4, 0, 0, 2});
  CHECK_FALSE(maximise({{1, 1}}, {-1}, {0, 0}).feasible);
  CHECK_FALSE(maximise({{1, -1}}, {1}, {0, 1}).bounded);
}

TEST_CASE("simplex: the cycling example of Beale ends at 1/20") {
  const RationalMatrix rows{{make_rational(1, 4), -60, make_rational(-1, 25), 9, 1, 0, 0},
                            {make_rational(1, 2), -90, make_rational(-1, 50), 3, 0, 1, 0},
                            {0, 0, 1, 0, 0, 0, 1}};
  const SimplexResult best =
      maximise(rows, {0, 0, 1}, {make_rational(3, 4), -150, make_rational(1, 50), -6, 0, 0, 0});
  CHECK(best.value == make_rational(1, 20));
}

TEST_CASE("simplex: solutions satisfy the rows, and multipliers prove optimum or infeasibility") {
  std::size_t infeasible = 0, optimal = 0;
  for (const std::uint64_t seed : test::seeds(400)) {
    test::Random random(seed);
    const auto height = static_cast<std::size_t>(random.integer(1, 4));
    const auto width = static_cast<std::size_t>(random.integer(1, 6));
    const auto number = [&] { return Rational(static_cast<long>(random.integer(-2, 2))); };
    RationalMatrix rows(height, RationalVector(width));
    RationalVector right(height), objective(width);
    for (RationalVector& row : rows) {
      for (Rational& x : row) x = number();
    }
    for (Rational& x : right) x = number();
    for (Rational& x : objective) x = number();
    if (height > 1 && random.one_in(3)) {  // a row twice
      rows[1] = rows[0];
      right[1] = right[0];
    }
    const SimplexResult result = maximise(rows, right, objective);
    CAPTURE(seed);
    if (!result.bounded) continue;
    for (std::size_t c = 0; c < width; ++c) {
      RationalVector column;
      for (const RationalVector& row : rows) column.push_back(row[c]);
      const Rational side = inner_product(result.multipliers, column);
      CHECK((result.feasible ? side >= objective[c] : side <= 0));
    }
    if (!result.feasible) {
      ++infeasible;
      CHECK(inner_product(result.multipliers, right) > 0);
      continue;
    }
    ++optimal;
    for (std::size_t r = 0; r < height; ++r)
      CHECK(inner_product(rows[r], result.solution) == right[r]);
    for (const Rational& x : result.solution) CHECK(x >= 0);
    CHECK(inner_product(objective, result.solution) == result.value);
    CHECK(inner_product(result.multipliers, right) == result.value);
  }
  CHECK(infeasible > test::of_all_seeds(50));
  CHECK(optimal > test::of_all_seeds(50));
}
