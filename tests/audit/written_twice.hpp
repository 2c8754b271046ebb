// For formulas that a test writes out a second time.
#pragma once

#include <doctest/doctest.h>

#include <cmath>

namespace gqa::test {

/// The second time is in a wider type, with nothing shared.
using Wide = long double;

/// Equal but for roundings, which are far below any term.
inline void check_near(double found, Wide expected) {
  CAPTURE(found);
  CAPTURE(static_cast<double>(expected));
  CHECK(std::abs(static_cast<Wide>(found) - expected) <= 1e-9L * expected);
}

}  // namespace gqa::test
