#include "gqa/audit/decide/element_decision.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "support/numbers.hpp"
#include "support/random.hpp"

using namespace gqa;
using gqa::test::infinity;
using gqa::test::not_a_number;

namespace {

const Tolerance any_size = AbsoluteRelativeTolerance{power_of_two(1100), 0};
const Tolerance model = ModelTolerance{&f32_model, false};
const Tolerance model_accepting = ModelTolerance{&f32_model, true};

Uncertain within(double output, const Rational& reference, const Tolerance& tolerance) {
  return decide_exactly(output, binary32, reference, tolerance, nullptr).within;
}

RoundingBounds bounds_of(double likely, double worst) {
  return {Ball(likely), Ball(worst)};
}

}  // namespace

TEST_CASE("verdict: NaN is never within, whatever the tolerance") {
  const RoundingBounds bounds = bounds_of(infinity, infinity);
  for (const Tolerance& tolerance :
       {any_size, Tolerance(UlpTolerance{power_of_two(1100)}), model, model_accepting}) {
    const ElementDecision decision = decide(not_a_number, binary32, Ball(1), tolerance, &bounds);
    CHECK(decision.within == Uncertain::no());
    CHECK(decision.strength == FailureStrength::proved);
    CHECK(decide_exactly(not_a_number, binary32, 1, tolerance, &bounds).within == Uncertain::no());
  }
}

TEST_CASE("verdict: an infinity is within only if the reference rounds to it") {
  const Rational beyond = power_of_two(200);
  CHECK(within(infinity, beyond, any_size) == Uncertain::yes());
  CHECK(within(-infinity, beyond, any_size) == Uncertain::no());
  CHECK(within(-infinity, -beyond, any_size) == Uncertain::yes());
  CHECK(within(infinity, 1, any_size) == Uncertain::no());
  // The largest finite binary32 plus half its ulp is the first number that rounds to infinity.
  const Rational first = Rational(binary32.maximum()) + power_of_two(103);
  CHECK(within(infinity, first, any_size) == Uncertain::yes());
  CHECK(within(infinity, first - power_of_two(-200), any_size) == Uncertain::no());
  CHECK(decide(infinity, binary32, Ball::with_radius(first.get_d(), 1), any_size, nullptr).within ==
        Uncertain::unknown());
}

TEST_CASE("verdict: a reference that is not finite decides nothing") {
  for (const double output : {0.0, 1.0, not_a_number, infinity}) {
    const ElementDecision decision = decide(output, binary32, Ball(1) / Ball(0), any_size, nullptr);
    CHECK(decision.within == Uncertain::unknown());
    CHECK(decision.strength == FailureStrength::none);
  }
}

TEST_CASE("verdict: an error of exactly the tolerance is within, one step beyond is not") {
  const Tolerance atol = AbsoluteRelativeTolerance{make_rational(1, 4), 0};
  CHECK(within(1.25, 1, atol) == Uncertain::yes());
  CHECK(within(0.75, 1, atol) == Uncertain::yes());
  CHECK(within(std::nextafter(1.25, 2), 1, atol) == Uncertain::no());
  CHECK(within(std::nextafter(0.75, 0), 1, atol) == Uncertain::no());
  const Tolerance rtol = AbsoluteRelativeTolerance{0, make_rational(1, 8)};
  CHECK(within(-9, -8, rtol) == Uncertain::yes());
  CHECK(within(std::nextafter(-9, -10), -8, rtol) == Uncertain::no());
  const Tolerance both = AbsoluteRelativeTolerance{1, make_rational(1, 8)};
  CHECK(within(10, 8, both) == Uncertain::yes());
  CHECK(within(std::nextafter(10, 11), 8, both) == Uncertain::no());
  // It is the reference, not the output, that the relative part grows with.
  const Tolerance tenth = AbsoluteRelativeTolerance{0, make_rational(1, 10)};
  CHECK(within(10, 9, tenth) == Uncertain::no());
  CHECK(decide(10, binary32, Ball(9), tenth, nullptr).within == Uncertain::no());
  CHECK(decide(9.125, binary32, Ball(10), tenth, nullptr).within == Uncertain::yes());
}

TEST_CASE("verdict: tolerance zero asks for the very number") {
  const Tolerance zero = AbsoluteRelativeTolerance{};
  CHECK(within(0.5, make_rational(1, 2), zero) == Uncertain::yes());
  CHECK(within(0.1, make_rational(1, 10), zero) == Uncertain::no());
  CHECK(within(-0.0, 0, zero) == Uncertain::yes());
}

TEST_CASE("verdict: a ball at the edge of the tolerance stays open until it is on one side") {
  const Tolerance atol = AbsoluteRelativeTolerance{make_rational(1, 4), 0};
  const auto answer = [&](double midpoint, double radius) {
    return decide(1.25, binary32, Ball::with_radius(midpoint, radius), atol, nullptr).within;
  };
  CHECK(answer(1, 0x1p-40) == Uncertain::unknown());
  CHECK(answer(1 + 0x1p-30, 0x1p-40) == Uncertain::yes());
  CHECK(answer(1 - 0x1p-30, 0x1p-40) == Uncertain::no());
}

TEST_CASE("verdict: an ulp is that of the reference's binade, also at powers of two") {
  const Tolerance one = UlpTolerance{1};
  // At 1 the ulp of binary32 is 2^-23, on both sides.
  CHECK(within(1 + 0x1p-23, 1, one) == Uncertain::yes());
  CHECK(within(1 - 0x1p-23, 1, one) == Uncertain::yes());
  CHECK(within(1 + 0x1.000002p-23, 1, one) == Uncertain::no());
  // Just below 1 it is 2^-24.
  const Rational below = 1 - power_of_two(-60);
  CHECK(within(1 - 0x1p-24, below, one) == Uncertain::yes());
  CHECK(within(1 + 0x1p-24, below, one) == Uncertain::no());
  CHECK(within(1 - 0x1p-23, below, one) == Uncertain::no());
  // Below the normal range the ulp is the spacing of the subnormals.
  CHECK(within(0x1p-149, 0, one) == Uncertain::yes());
  CHECK(within(0x1p-148, 0, one) == Uncertain::no());
  CHECK(within(0.5, make_rational(1, 2), UlpTolerance{0}) == Uncertain::yes());
}

TEST_CASE("verdict: a reference that straddles a binade must satisfy both ulps") {
  const Ball around_one = Ball::with_radius(1, 0x1p-60);
  const Tolerance one = UlpTolerance{1};
  const auto answer = [&](double output) {
    return decide(output, binary32, around_one, one, nullptr).within;
  };
  CHECK(answer(1) == Uncertain::yes());
  CHECK(answer(1 + 0x1.8p-24) == Uncertain::unknown());
  CHECK(answer(1 + 0x1p-22) == Uncertain::no());
}

TEST_CASE("verdict: an answer on a ball holds for every number in it") {
  for (const std::uint64_t seed : test::seeds(2000)) {
    test::Random random(seed);
    const double midpoint = random.corner_double();
    const double radius =
        std::ldexp(std::abs(midpoint) + 0x1p-200, -static_cast<int>(random.integer(2, 60)));
    const Ball ball = Ball::with_radius(midpoint, radius);
    const Rational part = make_rational(mpz_class(static_cast<long>(random.integer(-8, 8))), 8);
    const Rational inside = Rational(midpoint) + part * Rational(radius);
    const double output = static_cast<float>(midpoint + random.uniform(-2, 2) * radius *
                                                            random.pick({0.0, 1.0, 4.0}));
    if (!std::isfinite(output)) continue;
    const Tolerance tolerance =
        random.one_in(2) ? Tolerance(UlpTolerance{static_cast<long>(random.integer(0, 4))})
                         : Tolerance(AbsoluteRelativeTolerance{
                               Rational(radius) * static_cast<long>(random.integer(0, 3)),
                               abs(random.small_rational()) * power_of_two(-20)});
    const ElementDecision open = decide(output, binary32, ball, tolerance, nullptr);
    const ElementDecision exact = decide_exactly(output, binary32, inside, tolerance, nullptr);
    CAPTURE(seed);
    CAPTURE(output);
    CAPTURE(to_text(inside));
    REQUIRE(exact.within.is_decided());
    if (open.within.is_decided()) CHECK(open.within == exact.within);
    CHECK(absolute_error(output, ball).contains(abs(Rational(Rational(output) - inside))));
    CHECK(ulp_error(output, binary32, ball)
              .contains(abs(Rational(Rational(output) - inside)) / ulp(binary32, inside)));
  }
}

TEST_CASE("verdict: a model passes what is likely, and says how the rest is known to be wrong") {
  const auto decision = [](double error, const Tolerance& tolerance, const RoundingBounds& bounds) {
    return decide(1 + error, binary64, Ball(1), tolerance, &bounds);
  };
  const RoundingBounds bounds = bounds_of(0.25, 0.5);
  CHECK(decision(0.25, model, bounds).within == Uncertain::yes());
  CHECK(decision(0.375, model, bounds).within == Uncertain::no());
  CHECK(decision(0.375, model, bounds).strength == FailureStrength::statistical);
  CHECK(decision(0.5, model, bounds).strength == FailureStrength::statistical);
  CHECK(decision(0.625, model, bounds).within == Uncertain::no());
  CHECK(decision(0.625, model, bounds).strength == FailureStrength::proved);
  CHECK(decision(0.375, model_accepting, bounds).within == Uncertain::yes());
  CHECK(decision(0.375, model_accepting, bounds).strength == FailureStrength::none);
  CHECK(decision(0.625, model_accepting, bounds).within == Uncertain::no());
  CHECK(decision(0.625, model_accepting, bounds).strength == FailureStrength::proved);
}

TEST_CASE("verdict: without bounds, or with open ones, a model decides nothing it cannot") {
  CHECK(decide(1, binary32, Ball(1), model, nullptr).within == Uncertain::unknown());
  const RoundingBounds open{Ball::with_radius(0.25, 0.125), Ball(1) / Ball(0)};
  CHECK(decide(1.25, binary32, Ball(1), model, &open).within == Uncertain::unknown());
  const RoundingBounds unbounded{Ball(0.25), Ball(1) / Ball(0)};
  CHECK(decide(2, binary32, Ball(1), model, &unbounded).within == Uncertain::no());
  CHECK(decide(2, binary32, Ball(1), model, &unbounded).strength == FailureStrength::statistical);
  CHECK(decide(2, binary32, Ball(1), model_accepting, &unbounded).within == Uncertain::unknown());
}
