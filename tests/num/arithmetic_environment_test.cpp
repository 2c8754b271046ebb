#include "gqa/num/arithmetic_environment.hpp"

#include <doctest/doctest.h>

#include <cfenv>
#include <stdexcept>

#include "support/control_bits.hpp"

using namespace gqa;

#ifdef __SSE2__
namespace {

bool is_refused() {
  try {
    require_ieee_arithmetic();
  } catch (const std::runtime_error&) {
    return true;
  }
  return false;
}

}  // namespace

TEST_CASE("arithmetic environment: flushing results or operands is seen and refused") {
  CHECK_FALSE(is_refused());
  for (const unsigned bits :
       {test::flush_results, test::flush_operands, test::flush_results | test::flush_operands}) {
    bool seen = false;
    bool refused = false;
    {
      const test::ControlBits flushed(bits);
      seen = flushes_subnormals();
      refused = is_refused();
    }
    CAPTURE(bits);
    CHECK(seen);
    CHECK(refused);
  }
  CHECK_FALSE(is_refused());
}
#endif

TEST_CASE("arithmetic environment: every other rounding direction is seen") {
  const int before = std::fegetround();
  for (const int direction : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    std::fesetround(direction);
    const bool nearest = rounds_to_nearest();
    std::fesetround(before);
    CAPTURE(direction);
    CHECK_FALSE(nearest);
  }
  CHECK(rounds_to_nearest());
}
