// The filter's radius written out a second time, from its comment: no random problem comes near it.
#include "gqa/audit/filter/filter_bound.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "audit/audit_support.hpp"
#include "audit/written_twice.hpp"
#include "support/random.hpp"

using namespace gqa;
using test::check_near;
using test::Wide;

namespace {

constexpr Wide roundoff = 0x1p-53L;

Wide gamma_of(Wide n) {
  return n * roundoff / (1 - n * roundoff);
}

}  // namespace

TEST_CASE("filter_bound: the radius of a row, written a second time, is the same") {
  int usable = 0;
  for (const std::uint64_t seed : test::seeds(300)) {
    test::Random random(seed);
    CAPTURE(seed);
    test::SmallProblem small;
    small.query = small.key = small.value = small.output = {0};
    ScoreConstants constants(small.problem());
    constants.key_size = random.integer(1, 300);
    constants.scale_error = random.pick({0.0, 0x1p-54});
    constants.softcap = random.one_in(2) ? 20 : 0;
    constants.softcap_error = constants.softcap > 0 ? 0x1p-55 : 0;
    constants.has_bias = random.one_in(3);
    RowHistory row;
    row.query_norm = random.uniform(0, 8);
    row.key_norm = random.uniform(0, 8);
    row.shift = random.uniform(-60, 60);
    row.lift = random.uniform(0, 32);
    row.travel = random.uniform(0, 100);
    row.denominator = random.uniform(0.5, 100);
    row.terms = random.integer(1, 5000);
    row.block = random.integer(1, 256);
    row.blocks = random.integer(1, 20);
    row.rescales = random.integer(0, 20);
    const RowBound bound = bound_row(constants, row);
    if (!bound.usable) continue;
    ++usable;
    const Wide product = Wide{row.query_norm} * row.key_norm;
    const Wide raw =
        (gamma_of(static_cast<Wide>(constants.key_size) + 1) + constants.scale_error + roundoff) *
        product;
    Wide largest = product + raw;
    Wide error = raw;
    if (constants.softcap > 0) {
      largest =
          std::min<Wide>(largest, Wide{constants.softcap} * (1 + Wide{constants.softcap_error}));
      error += (16 + 3) * roundoff * largest + constants.softcap_error * largest;
    }
    const Wide bias = constants.has_bias ? 1 : 0;
    const Wide score = error + bias * roundoff * (largest + 2 * std::abs(Wide{row.shift}));
    check_near(bound.score_radius, score);
    const Wide common = score + 2 * roundoff * row.travel;
    const Wide n = static_cast<Wide>(row.terms);
    const Wide theta = common + (1 + 2 * bias) * roundoff * (std::log(n) + 1 + row.lift);
    const Wide theta_maximum = common + (1 + 2 * bias) * roundoff * (1500 + 64);
    const Wide rho =
        (theta + gamma_of(4 * (1 + static_cast<Wide>(row.rescales)))) * (1 + 2 * theta_maximum);
    const Wide epsilon =
        rho + gamma_of(static_cast<Wide>(row.block + row.blocks + row.rescales + 2)) * (1 + rho);
    check_near(bound.epsilon, epsilon);
    check_near(bound.relative, 2 * epsilon / (1 - epsilon));
    CHECK(bound.underflow >= (n + static_cast<double>(row.blocks + row.rescales) + 2) * 0x1p-1073);
  }
  CHECK(usable > 0);
}
