#include "gqa/audit/filter/interval_decision.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "gqa/num/rational.hpp"
#include "support/random.hpp"

using namespace gqa;

TEST_CASE("interval decision: an error's ends are certified where distance and radius cancel") {
  for (const std::uint64_t seed : test::seeds(2000)) {
    CAPTURE(seed);
    test::Random random(seed);
    const double output = random.normal();
    const double centre = random.normal();
    double radius = std::abs(output - centre);
    const std::int64_t steps = random.integer(0, 3);
    for (std::int64_t s = 0; s < steps; ++s) radius = std::nextafter(radius, 0.0);
    const Interval error = error_interval(output, centre, radius);
    const Rational distance = abs(Rational(Rational(output) - Rational(centre)));
    CHECK(Rational(error.lower) <= std::max(Rational(0), Rational(distance - Rational(radius))));
    CHECK(Rational(error.upper) >= distance + Rational(radius));
  }
}
