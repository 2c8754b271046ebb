// Tallies of random elements, with everything in them that a tally can hold.
#pragma once

#include <bit>
#include <cmath>
#include <limits>

#include "gqa/audit/decide/tally.hpp"
#include "support/random.hpp"

namespace gqa::test {

inline AuditTally random_tally(Random& random, const AuditTally& empty, std::int64_t elements) {
  AuditTally tally = empty;
  const auto heads = static_cast<std::int64_t>(tally.head_violations.size());
  const auto rows = static_cast<std::int64_t>(tally.row_violations.size());
  const auto columns = static_cast<std::int64_t>(tally.column_violations.size());
  for (std::int64_t n = 0; n < elements; ++n) {
    WorstElement element;
    const std::int64_t head = random.integer(0, heads - 1);
    element.index = {0, head, random.integer(0, rows - 1), random.integer(0, columns - 1)};
    // A NaN with a sign and a payload, which text would lose.
    element.output = random.one_in(5)
                         ? std::bit_cast<double>(0xfff8000000000000U +
                                                 static_cast<std::uint64_t>(random.integer(0, 9)))
                         : random.corner_double();
    const double error = std::abs(random.corner_double());
    element.ulp_error = {error, error * 1.5};
    element.absolute_error = {error / 3, std::numeric_limits<double>::infinity()};
    element.reference = {random.corner_double(), -0.0};
    element.within = random.pick({Uncertain::yes(), Uncertain::no(), Uncertain::unknown()});
    ++tally.elements;
    tally.decided_by_filter += random.integer(0, 1);
    tally.decided_by_enclosure += random.integer(0, 1);
    tally.decided_exactly += random.integer(0, 1);
    tally.undecided += random.integer(0, 1);
    tally.not_finite_references += random.integer(0, 1);
    tally.self_checked += random.integer(0, 1);
    if (element.within.certainly_not()) {
      tally.add_violation(head, element.index[2], element.index[3]);
      tally.proved_violations += random.integer(0, 1);
    }
    tally.add_errors({error / 3, error}, element.ulp_error, error);
    tally.add_worst(element);
  }
  return tally;
}

}  // namespace gqa::test
