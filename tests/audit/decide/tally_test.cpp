#include "gqa/audit/decide/tally.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "gqa/audit/audit.hpp"
#include "gqa/audit/decide/describe_violations.hpp"
#include "support/random.hpp"

using namespace gqa;

namespace {

constexpr std::int64_t batch = 2;
constexpr std::int64_t heads = 3;
constexpr std::int64_t rows = 4;
constexpr std::int64_t columns = 2;

// What one element adds to a tally.
struct Element {
  WorstElement worst;
  bool violates = false;
  bool proved = false;
};

std::vector<Element> random_elements(test::Random& random) {
  std::vector<Element> elements;
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t c = 0; c < columns; ++c) {
          Element element;
          element.worst.index = {b, h, i, c};
          // Many equal errors, so that the order must come from the index; some huge.
          const double error = random.one_in(8) ? std::ldexp(random.unit(), 45)
                                                : 0.25 * static_cast<double>(random.integer(0, 5));
          element.worst.ulp_error = {error, error * 1.5};
          element.worst.absolute_error = {error * 1e-7, error * 1.5e-7};
          element.worst.allowed = {random.pick({0.0, 1e-7, 2e-7}), 2e-7};
          element.worst.output =
              random.one_in(10) ? std::numeric_limits<double>::quiet_NaN() : random.normal();
          element.violates = random.one_in(4);
          element.proved = element.violates && random.one_in(2);
          element.worst.within = Uncertain::from(!element.violates);
          elements.push_back(element);
        }
      }
    }
  }
  return elements;
}

void add(AuditTally& tally, const Element& element) {
  const auto& [b, h, i, c] = element.worst.index;
  ++tally.elements;
  ++tally.decided_by_enclosure;
  if (element.violates) tally.add_violation(b * heads + h, i, c);
  if (element.proved) ++tally.proved_violations;
  tally.add_errors({}, element.worst.ulp_error, element.worst.ulp_error.lower);
  tally.add_worst(element.worst);
}

AuditTally empty_tally() {
  return {batch, heads, rows, columns};
}

void check_identical(const AuditTally& a, const AuditTally& b) {
  CHECK(a.elements == b.elements);
  CHECK(a.decided_by_enclosure == b.decided_by_enclosure);
  CHECK(a.violations == b.violations);
  CHECK(a.proved_violations == b.proved_violations);
  CHECK(a.measured == b.measured);
  CHECK(a.ulp_sum_high == b.ulp_sum_high);
  CHECK(a.ulp_sum_low == b.ulp_sum_low);
  CHECK(a.mean_ulp() == b.mean_ulp());
  CHECK(a.max_ulp_error.lower == b.max_ulp_error.lower);
  CHECK(a.max_ulp_error.upper == b.max_ulp_error.upper);
  CHECK(a.head_violations == b.head_violations);
  CHECK(a.row_violations == b.row_violations);
  CHECK(a.column_violations == b.column_violations);
  REQUIRE(a.worst.size() == b.worst.size());
  for (std::size_t k = 0; k < a.worst.size(); ++k) CHECK(a.worst[k].index == b.worst[k].index);
}

}  // namespace

TEST_CASE("tally: any partition, in any order, merges to the same tally") {
  for (const std::uint64_t seed : test::seeds(200)) {
    test::Random random(seed);
    std::vector<Element> elements = random_elements(random);
    AuditTally whole = empty_tally();
    for (const Element& element : elements) add(whole, element);
    for (std::size_t i = elements.size(); i-- > 1;) {  // Fisher and Yates
      std::swap(
          elements[i],
          elements[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(i)))]);
    }
    std::vector<AuditTally> parts(static_cast<std::size_t>(random.integer(1, 7)), empty_tally());
    for (const Element& element : elements) {
      const auto last = static_cast<std::int64_t>(parts.size()) - 1;
      add(parts[static_cast<std::size_t>(random.integer(0, last))], element);
    }
    // Join random neighbours until one is left: an arbitrary bracketing.
    while (parts.size() > 1) {
      const auto at =
          static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(parts.size()) - 2));
      parts[at].merge(parts[at + 1]);
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
    CAPTURE(seed);
    check_identical(parts[0], whole);
  }
}

TEST_CASE(
    "tally: the worst elements are the violations first, then the largest shares of what is "
    "allowed") {
  test::Random random(3);
  std::vector<Element> elements = random_elements(random);
  AuditTally tally = empty_tally();
  for (const Element& element : elements) add(tally, element);
  REQUIRE(tally.worst.size() == AuditTally::worst_kept);
  std::ranges::stable_sort(elements, [](const Element& a, const Element& b) {
    if (a.violates != b.violates) return a.violates;
    if (a.worst.share() != b.worst.share()) return a.worst.share() > b.worst.share();
    return a.worst.ulp_error.upper > b.worst.ulp_error.upper;
  });
  for (std::size_t k = 0; k < tally.worst.size(); ++k) {
    CAPTURE(k);
    CHECK(tally.worst[k].index == elements[k].worst.index);
  }
}

TEST_CASE("tally: the mean of ulp errors is kept to 2^-20 ulp, and huge errors do not overflow") {
  AuditTally tally = empty_tally();
  CHECK(tally.mean_ulp() == 0);
  for (const double error : {0.25, 0.5, 3.0}) tally.add_errors({}, {}, error);
  CHECK(tally.mean_ulp() == 1.25);
  CHECK(tally.measured == 3);
  AuditTally huge = empty_tally();
  for (int i = 0; i < 1000; ++i) huge.add_errors({}, {}, 1e300);
  huge.add_errors({}, {}, std::numeric_limits<double>::infinity());
  CHECK(huge.mean_ulp() == 0x1p40);
}

TEST_CASE("tally: violations are described by batch, heads, rows and columns") {
  const Dimensions d{batch, heads, 1, rows, 0, 1, 1, columns};
  AuditTally tally = empty_tally();
  tally.elements = batch * heads * rows * columns;
  CHECK(describe_violations(tally, d).empty());
  AuditTally full = tally;
  for (const std::int64_t h : {1, 2}) {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t c = 0; c < columns; ++c) full.add_violation(h, i, c);
    }
  }
  CHECK(describe_violations(full, d) == "all of batch 0, query heads 1 and 2");
  AuditTally single = tally;
  single.add_violation(heads + 2, 3, 1);
  CHECK(describe_violations(single, d) ==
        "1 of 48 elements in batch 1, query head 2; row 3; column 1");
  AuditTally spread = tally;
  for (std::int64_t h = 0; h < batch * heads; ++h) {
    for (std::int64_t i = 0; i < 3; ++i) spread.add_violation(h, i, 0);
  }
  CHECK(describe_violations(spread, d) ==
        "18 of 48 elements in batch 0, every query head; batch 1, every query head; "
        "rows 0 to 2; column 0");
}
