#include "gqa/audit/enclose/element_bounds.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "audit/audit_support.hpp"
#include "support/random.hpp"

using namespace gqa;
using gqa::test::equal_scores;
using gqa::test::SmallProblem;

namespace {

using Index = std::array<std::int64_t, 4>;

std::vector<ElementBounds> bounds_of(const SmallProblem& p, const Tolerance& tolerance,
                                     const std::vector<Index>& indices) {
  return element_bounds(p.problem(), tolerance, indices);
}

SmallProblem random_problem(test::Random& random) {
  SmallProblem p;
  p.queries = 3;
  p.keys = 5;
  p.key_size = 4;
  p.value_size = 2;
  const auto numbers = [&random](std::int64_t count) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < count; ++i) {
      values.push_back(static_cast<double>(random.integer(-64, 64)) / 32);
    }
    return values;
  };
  p.query = numbers(p.queries * p.key_size);
  p.key = numbers(p.keys * p.key_size);
  p.value = numbers(p.keys * p.value_size);
  p.output = numbers(p.queries * p.value_size);
  return p;
}

}  // namespace

TEST_CASE("element bounds: a stated tolerance in ulp of the exact value, here 2 and 4") {
  const std::vector<Index> both{{0, 0, 0, 1}, {0, 0, 0, 0}};
  const auto ulps = bounds_of(equal_scores(), UlpTolerance{3}, both);
  REQUIRE(ulps.size() == 2);
  CHECK(ulps[0].index == Index{0, 0, 0, 0});
  CHECK(ulps[0].allowed == 3);
  CHECK_FALSE(ulps[0].worst);
  // ulp(2) = 2^-22 and ulp(4) = 2^-21 in binary32, but 2 and 4 begin a binade: an enclosure of
  // them reaches into the one below, whose ulp is half.
  const auto absolute =
      bounds_of(equal_scores(), AbsoluteRelativeTolerance{make_rational(1, 8), 0}, both);
  REQUIRE(absolute.size() == 2);
  CHECK(absolute[0].allowed >= 0x1p19);
  CHECK(absolute[0].allowed <= 0x1.00001p20);
  CHECK(absolute[1].allowed >= 0x1p18);
  CHECK(absolute[1].allowed <= 0x1.00001p19);
}

TEST_CASE("element bounds: of a model they decide as the audit does") {
  for (const std::uint64_t seed : test::seeds(40)) {
    CAPTURE(seed);
    test::Random random(seed);
    const SmallProblem p = random_problem(random);
    const Tolerance model = ModelTolerance{&f32_model};
    const AuditTally tally = p.audit(model).tally;
    REQUIRE(tally.worst.size() == 6);
    for (const WorstElement& element : tally.worst) {
      CAPTURE(element.index[2]);
      CAPTURE(element.index[3]);
      const auto bounds = bounds_of(p, model, {element.index});
      REQUIRE(bounds.size() == 1);
      REQUIRE(bounds[0].worst);
      CHECK(bounds[0].allowed > 0);
      CHECK(bounds[0].allowed <= *bounds[0].worst);
      // Random outputs are far off.
      CHECK(element.within.certainly_not() == (element.ulp_error.lower > bounds[0].allowed));
    }
  }
}

TEST_CASE("element bounds: rows without a number have none, and a large history is left out") {
  SmallProblem p = equal_scores();
  p.value[0] = std::nan("");
  CHECK(bounds_of(p, UlpTolerance{3}, {{0, 0, 0, 0}}).empty());
  p = equal_scores();
  p.length = {0};
  CHECK(bounds_of(p, UlpTolerance{3}, {{0, 0, 0, 0}}).empty());
  const std::vector<Index> one{{0, 0, 0, 0}};
  // Three keys of three numbers and three values of two.
  const AttentionProblem problem = equal_scores().problem();
  CHECK(element_bounds(problem, UlpTolerance{3}, one, 15).size() == 1);
  CHECK(element_bounds(problem, UlpTolerance{3}, one, 14).empty());
}
