#include "gqa/num/ball.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "support/numbers.hpp"
#include "support/random.hpp"

using namespace gqa;
using gqa::test::infinity;
using gqa::test::not_a_number;

namespace {

// A number and a ball around it: exact, rounded, or wide.
struct Enclosed {
  Rational value;
  Ball ball;
};

Enclosed random_enclosed(test::Random& random) {
  if (random.one_in(3)) {
    const double midpoint = random.corner_double();
    const double radius =
        std::abs(midpoint) * std::ldexp(1.0, -static_cast<int>(random.integer(3, 90)));
    // Anywhere in the ball, its ends included.
    const Rational part = make_rational(mpz_class(static_cast<long>(random.integer(-4, 4))), 4);
    return {Rational(Rational(midpoint) + part * Rational(radius)),
            Ball::with_radius(midpoint, radius)};
  }
  Rational value = random.rational();
  return {value, Ball(value)};
}

// Does the ball contain what the function gives at a much higher precision?
template <class Function>
bool contains_finer(const Ball& ball, const Rational& x, Function function) {
  const PrecisionScope precision(2000);
  const Ball fine = function(Ball(x));
  return ball.contains(fine.lower()) && ball.contains(fine.upper());
}

}  // namespace

TEST_CASE("ball: sums, products and quotients contain the exact rational, at any precision") {
  for (const std::uint64_t seed : test::seeds(2000)) {
    test::Random random(seed);
    const PrecisionScope precision(random.pick<long>({2, 24, 53, 128, 300}));
    const Enclosed a = random_enclosed(random);
    const Enclosed b = random_enclosed(random);
    CAPTURE(seed);
    CAPTURE(to_text(a.value));
    CAPTURE(to_text(b.value));
    CHECK(a.ball.contains(a.value));
    CHECK((a.ball + b.ball).contains(a.value + b.value));
    CHECK((a.ball - b.ball).contains(a.value - b.value));
    CHECK((a.ball * b.ball).contains(a.value * b.value));
    CHECK((-a.ball).contains(-a.value));
    CHECK(abs(a.ball).contains(abs(a.value)));
    CHECK(max(a.ball, b.ball).contains(a.value < b.value ? b.value : a.value));
    CHECK(min(a.ball, b.ball).contains(a.value < b.value ? a.value : b.value));
    CHECK(Ball::hull(a.ball, b.ball).contains(a.value));
    CHECK(Ball::hull(a.ball, b.ball).contains(b.value));
    if (b.value != 0) CHECK((a.ball / b.ball).contains(a.value / b.value));
  }
}

TEST_CASE("ball: a dot product contains the exact one, cancellation included") {
  for (const std::uint64_t seed : test::seeds(500)) {
    test::Random random(seed);
    const PrecisionScope precision(random.pick<long>({24, 53, 128}));
    std::vector<Ball> left;
    std::vector<Ball> right;
    Rational exact = 0;
    const std::int64_t count = random.integer(0, 20);
    for (std::int64_t i = 0; i < count; ++i) {
      const Enclosed a = random_enclosed(random);
      const Enclosed b = random_enclosed(random);
      left.push_back(a.ball);
      right.push_back(b.ball);
      exact += a.value * b.value;
      if (random.one_in(3)) {  // the opposite term
        left.push_back(-a.ball);
        right.push_back(b.ball);
        exact -= a.value * b.value;
      }
    }
    CAPTURE(seed);
    CAPTURE(to_text(exact));
    CHECK(dot(left.data(), right.data(), left.size()).contains(exact));
  }
}

TEST_CASE("ball: exp, log, sqrt and tanh contain the value found with 2000 bits") {
  for (const std::uint64_t seed : test::seeds(300)) {
    test::Random random(seed);
    const Rational x =
        random.one_in(2) ? random.small_rational() : Rational(random.uniform(-700, 700));
    const Rational positive = abs(x) + power_of_two(-random.integer(1, 200));
    CAPTURE(seed);
    CAPTURE(to_text(x));
    CHECK(contains_finer(exp(Ball(x)), x, [](const Ball& b) { return exp(b); }));
    CHECK(contains_finer(tanh(Ball(x)), x, [](const Ball& b) { return tanh(b); }));
    CHECK(contains_finer(log(Ball(positive)), positive, [](const Ball& b) { return log(b); }));
    CHECK(contains_finer(sqrt(Ball(positive)), positive, [](const Ball& b) { return sqrt(b); }));
    CHECK(sqrt(Ball(Rational(x * x))).contains(abs(x)));
  }
}

TEST_CASE("ball: a rational is enclosed to the working precision and no wider") {
  const Rational third = make_rational(1, 3);
  const PrecisionScope coarse(30);
  const Ball ball(third);
  CHECK_FALSE(ball.is_exact());
  CHECK(ball.contains(third));
  CHECK(ball.upper() - ball.lower() < power_of_two(-28));
  CHECK(ball.lower() < third);
  CHECK(third < ball.upper());
}

TEST_CASE("ball: the precision is that of the innermost scope, and comes back") {
  CHECK(precision_bits() == 128);
  {
    const PrecisionScope outer(64);
    CHECK(precision_bits() == 64);
    {
      const PrecisionScope inner(1000);
      CHECK(precision_bits() == 1000);
    }
    CHECK(precision_bits() == 64);
  }
  CHECK(precision_bits() == 128);
}

TEST_CASE("ball: end points are exact, and rounded outwards as doubles") {
  // A radius has 30 bits and is rounded up.
  const Ball ball = Ball::with_radius(1.5, 0.25);
  CHECK(ball.lower() <= make_rational(5, 4));
  CHECK(ball.upper() >= make_rational(7, 4));
  CHECK(ball.upper() - ball.lower() < make_rational(1, 2) + power_of_two(-28));
  CHECK(ball.lower() + ball.upper() == 3);
  for (const std::uint64_t seed : test::seeds(300)) {
    test::Random random(seed);
    const Ball wide = random_enclosed(random).ball;
    CAPTURE(seed);
    CAPTURE(to_text(wide));
    CHECK(Rational(wide.lower_double()) <= wide.lower());
    CHECK(Rational(wide.upper_double()) >= wide.upper());
  }
}

TEST_CASE("ball: what is undefined is not finite, and its comparisons stay open") {
  const Ball around_zero = Ball::with_radius(0, 1);
  for (const Ball& ball : {Ball(1) / Ball(0), Ball(1) / around_zero, log(Ball(0)), log(Ball(-1)),
                           sqrt(Ball(-1)), Ball(not_a_number), Ball(infinity), Ball(-infinity)}) {
    CAPTURE(to_text(ball));
    CHECK_FALSE(ball.is_finite());
    CHECK(less(ball, Ball(0)) == Uncertain::unknown());
    CHECK(less(Ball(0), ball) == Uncertain::unknown());
    CHECK(less_equal(ball, Ball(0)) == Uncertain::unknown());
    CHECK(less_equal(Ball(0), ball) == Uncertain::unknown());
    CHECK(ball.lower_double() == -infinity);
    CHECK(ball.upper_double() == infinity);
  }
}

TEST_CASE("ball: a comparison is decided exactly if all numbers of the balls agree") {
  const Ball one(1);
  const Ball around_one = Ball::with_radius(1, 0.5);
  CHECK(less(one, Ball(2)) == Uncertain::yes());
  CHECK(less(Ball(2), one) == Uncertain::no());
  CHECK(less(one, one) == Uncertain::no());
  CHECK(less_equal(one, one) == Uncertain::yes());
  CHECK(less(around_one, one) == Uncertain::unknown());
  CHECK(less_equal(one, around_one) == Uncertain::unknown());
  CHECK(less(around_one, Ball(1.5)) == Uncertain::unknown());
  CHECK(less_equal(around_one, Ball(around_one.upper_double())) == Uncertain::yes());
  CHECK(less(around_one, Ball(1.75)) == Uncertain::yes());
}

TEST_CASE("ball: copies and moves keep the number") {
  Ball a(make_rational(1, 7));
  const Ball copy(a);
  Ball assigned;
  assigned = copy;
  const Ball moved(std::move(a));
  CHECK(moved.contains(make_rational(1, 7)));
  CHECK(assigned.contains(make_rational(1, 7)));
  CHECK(Ball().contains_zero());
  CHECK(Ball().is_exact());
}
