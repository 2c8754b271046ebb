// The fast lane of whole rows, against the decisions on single elements.
#include "gqa/audit/filter/vector_decision.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "gqa/audit/filter/filter.hpp"
#include "gqa/audit/filter/interval_decision.hpp"
#include "gqa/audit/filter/vector_exp.hpp"
#include "support/random.hpp"

using namespace gqa;

namespace {

struct RandomRow {
  std::vector<double> outputs, centres, maxima;
  RowElements row;

  RandomRow(test::Random& random, const FloatFormat& format) {
    const auto columns = static_cast<std::size_t>(random.integer(1, 40));
    // What lies beyond the columns must not matter.
    outputs.assign(padded(columns), std::nan(""));
    centres.assign(padded(columns), 0);
    maxima.assign(padded(columns), 0);
    const double relative = std::ldexp(random.unit(), -static_cast<int>(random.integer(20, 60)));
    for (std::size_t c = 0; c < columns; ++c) {
      const double corner = random.corner_double();
      centres[c] = random.one_in(3) && std::abs(corner) < 1e300 ? corner : random.normal();
      const double ulps = random.one_in(4) ? 3000 * random.normal() : random.normal();
      const double off = std::ldexp(centres[c], 1 - format.precision) * ulps;
      outputs[c] = random.one_in(9) ? random.corner_double() : centres[c] + off;
      if (random.one_in(50)) outputs[c] = random.one_in(2) ? std::nan("") : HUGE_VAL;
      maxima[c] = std::abs(centres[c]) * (1 + random.unit());
    }
    const double underflow = random.pick({0x1p-1060, 0x1p-300, 1e-12});
    row = {outputs.data(), centres.data(), maxima.data(), columns, relative, underflow};
  }

  double radius(std::size_t c) const {
    FilterTile tile;
    FilterRow filter_row;
    filter_row.relative = row.relative;
    filter_row.underflow = row.underflow;
    tile.rows = {&filter_row, 1};
    tile.column_maximum = maxima;
    tile.values = centres.data();
    return tile.radius(0, static_cast<std::int64_t>(c));
  }
};

// One element, as TileAuditor sees it.
struct IntervalElement {
  Interval error;
  Interval magnitude;
  Interval ulps;

  IntervalElement(const RandomRow& random, std::size_t c, const FloatFormat& format)
      : error(error_interval(random.outputs[c], random.centres[c], random.radius(c))),
        magnitude(magnitude_interval(random.centres[c], random.radius(c))),
        ulps(UlpTable(format).ulps(magnitude)) {}
};

constexpr const FloatFormat* formats[] = {&binary64, &binary32, &binary16, &bfloat16};

}  // namespace

TEST_CASE(
    "vector_decision: what a row finds within a stated tolerance is within, element by "
    "element, with the same figures") {
  std::int64_t found = 0;
  std::int64_t all = 0;
  for (const std::uint64_t seed : gqa::test::seeds(2000)) {
    CAPTURE(seed);
    test::Random random(seed);
    const FloatFormat& format = *formats[random.integer(0, 3)];
    CAPTURE(format.name);
    const RandomRow row(random, format);
    const Tolerance tolerance =
        random.one_in(2)
            ? Tolerance(UlpTolerance{make_rational(random.integer(0, 3), 2)})
            : Tolerance(AbsoluteRelativeTolerance{power_of_two(-12), power_of_two(-8)});
    const StatedTolerance stated(tolerance);
    std::vector<double> errors(row.outputs.size());
    std::vector<double> shares(row.outputs.size());
    const SureElements sure =
        surely_within(row.row, format, stated.sure_allowance(), errors.data(), shares.data());
    SureElements expected;
    for (std::size_t c = 0; c < row.row.columns; ++c) {
      CAPTURE(c);
      const IntervalElement element(row, c, format);
      const Uncertain within =
          gqa::within(element.error, stated.allowed(element.magnitude, element.ulps));
      ++all;
      if (errors[c] == not_sure) continue;
      CAPTURE(row.outputs[c]);
      CAPTURE(row.centres[c]);
      CHECK(within.certainly());
      REQUIRE(element.ulps.lower == element.ulps.upper);
      const double ulp = element.ulps.upper;
      CHECK(errors[c] == rounded_up(element.error.upper / ulp));
      ++expected.count;
      expected.max_absolute_error.raise_to({element.error.lower, element.error.upper});
      expected.max_ulp_error.raise_to(
          {rounded_down(element.error.lower / ulp), rounded_up(element.error.upper / ulp)});
      expected.ulp_units += AuditTally::units_of(std::abs(row.outputs[c] - row.centres[c]) / ulp);
    }
    CHECK(sure.count == expected.count);
    CHECK(sure.max_absolute_error.lower == expected.max_absolute_error.lower);
    CHECK(sure.max_absolute_error.upper == expected.max_absolute_error.upper);
    CHECK(sure.max_ulp_error.lower == expected.max_ulp_error.lower);
    CHECK(sure.max_ulp_error.upper == expected.max_ulp_error.upper);
    CHECK(sure.ulp_units == expected.ulp_units);
    CHECK(sure.max_share <= 1 + 1e-9);
    found += expected.count;
  }
  // Most are within, and most of those are found: otherwise nothing was tried.
  CHECK(found > all / 4);
}

TEST_CASE("vector_decision: an error beyond its allowance, NaN and infinity are never sure") {
  constexpr double infinity = HUGE_VAL;
  for (const double output : {1.5, std::nan(""), infinity, -infinity, -1.0}) {
    CAPTURE(output);
    std::vector<double> outputs(vector_padding, output), centres(vector_padding, 1.0),
        maxima(vector_padding, 1.0), errors(vector_padding), shares(vector_padding),
        squares(vector_padding, infinity);
    const RowElements row{outputs.data(), centres.data(), maxima.data(), 5, 0x1p-40, 0};
    CHECK(
        surely_within(row, binary32, StatedAllowance{0.25, 0.125, 0}, errors.data(), shares.data())
            .count == 0);
    for (std::size_t c = 0; c < row.columns; ++c) CHECK(errors[c] == not_sure);
    // Sums that overflowed explain nothing either.
    const LikelyAllowance likely{squares.data(), 1e-9, 0, 1, 1, 1, 0, 1, 1};
    CHECK(surely_within(row, binary32, likely, errors.data(), shares.data()).count == 0);
    for (std::size_t c = 0; c < row.columns; ++c) CHECK(errors[c] == not_sure);
  }
}

TEST_CASE("vector_decision: what is allowed is taken at the smallest magnitude of the reference") {
  // The reference is in 1.5 +- 0.125, the error at most 0.375: a quarter of 1.625, not of 1.375.
  const std::vector<double> outputs(vector_padding, 1.75), centres(vector_padding, 1.5),
      maxima(vector_padding, 1.0);
  std::vector<double> errors(vector_padding);
  std::vector<double> shares(vector_padding);
  const RowElements row{outputs.data(), centres.data(), maxima.data(), 3, 0.125, 0};
  CHECK(surely_within(row, bfloat16, StatedAllowance{0, 0.25, 0}, errors.data(), shares.data())
            .count == 0);
  // 3/11 of 1.375 is 0.375: a little more is enough.
  CHECK(surely_within(row, bfloat16, StatedAllowance{0, 0.28, 0}, errors.data(), shares.data())
            .count == 3);
}
