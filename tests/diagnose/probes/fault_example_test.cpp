// The smallest example of every fault, against exact arithmetic where that is short.
#include "gqa/diagnose/probes/fault_example.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace gqa;

TEST_CASE("fault_example: every fault of the catalogue has one, in which right and wrong differ") {
  for (const FaultKind* kind : fault_kinds()) {
    CAPTURE(kind->slug);
    const auto example = smallest_example(*kind);
    REQUIRE(example.has_value());
    CHECK(example->fault.kind == kind);
    REQUIRE(example->right.size() == example->wrong.size());
    bool different = false;
    for (std::size_t c = 0; c < example->right.size(); ++c) {
      const bool right_is_nan = std::isnan(example->right[c]);
      different = different || right_is_nan != std::isnan(example->wrong[c]) ||
                  std::abs(example->right[c] - example->wrong[c]) > 1e-3;
    }
    CHECK(different);
  }
}
