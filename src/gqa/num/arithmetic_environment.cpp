#include "gqa/num/arithmetic_environment.hpp"

#include <cfenv>
#include <limits>
#include <stdexcept>

namespace gqa {

bool flushes_subnormals() {
  // volatile: the processor must do it, not the compiler.
  volatile double smallest_normal = std::numeric_limits<double>::min();
  volatile double subnormal = std::numeric_limits<double>::denorm_min();
  volatile float smallest_single = std::numeric_limits<float>::min();
  const volatile double halved = smallest_normal * 0.5;
  const volatile double raised = subnormal * 0x1p200;
  const volatile float halved_single = smallest_single * 0.5F;
  return halved == 0.0 || raised == 0.0 || halved_single == 0.0F;
}

bool rounds_to_nearest() {
  volatile double one = 1.0;
  volatile double little = 0x1p-54;
  const volatile double above = one + 3 * little;  // upwards in every direction but to zero
  const volatile double same = one + little;
  const volatile double below = -one - little;
  return std::fegetround() == FE_TONEAREST && above > 1.0 && same == 1.0 && below == -1.0;
}

void require_ieee_arithmetic() {
  if (!flushes_subnormals() && rounds_to_nearest()) return;
  throw std::runtime_error(
      "internal error: the processor flushes subnormal numbers or does not round to nearest "
      "on this thread; certified radii need IEEE arithmetic (was something built with "
      "-ffast-math?)");
}

}  // namespace gqa
