// How long one element is asked about.
#include "gqa/audit/enclose/audited_element.hpp"

#include <doctest/doctest.h>

using namespace gqa;

namespace {

// An output that is off by one, beyond the likely bound.
AuditedElement wrong_element() {
  AuditedElement element;
  element.output = 2;
  element.format = &binary32;
  return element;
}

// A source that counts how often it is asked, with the same answer each time.
struct CountedSource {
  Enclosed answer;
  int asked = 0;

  ReferenceSource source() {
    return {[this] {
              ++asked;
              return answer;
            },
            [] { return std::optional<Rational>(); }};
  }
};

}  // namespace

TEST_CASE("audited_element: a worst case that the model does not bound is not asked for in vain") {
  const Ball unbounded = Ball(1) / Ball(0);
  REQUIRE_FALSE(unbounded.is_finite());
  CountedSource counted{{Ball(1), RoundingBounds{Ball(0.5), unbounded}}};
  AuditOptions options;
  options.tolerance = ModelTolerance{.model = &bf16_model, .accept_worst_case = true};
  AuditedElement element = wrong_element();
  settle(element, counted.answer, counted.source(), options);
  CHECK_FALSE(element.decision.within.is_decided());
  CHECK(counted.asked == 1);
}

TEST_CASE("audited_element: what more bits might decide is asked up to the largest precision") {
  // The error is 1, and the likely bound is only known to be near it.
  const Ball near_one = Ball::hull(Ball(0.5), Ball(1.5));
  CountedSource counted{{Ball(1), RoundingBounds{near_one, Ball(4)}}};
  AuditOptions options;
  options.tolerance = ModelTolerance{.model = &bf16_model};
  options.first_precision = 64;
  options.largest_precision = 1024;
  AuditedElement element = wrong_element();
  settle(element, counted.answer, counted.source(), options);
  CHECK_FALSE(element.decision.within.is_decided());
  CHECK(counted.asked == 4);  // 128, 256, 512, 1024 bits
}
