// The processor's floating-point control word as code built with -ffast-math leaves it.
#pragma once

#ifdef __SSE2__
#include <xmmintrin.h>

namespace gqa::test {

inline constexpr unsigned flush_results = 0x8000;   // FTZ
inline constexpr unsigned flush_operands = 0x0040;  // DAZ

/// Sets some bits while it lives, on this thread.
class ControlBits {
 public:
  explicit ControlBits(unsigned bits) : before_(_mm_getcsr()) { _mm_setcsr(before_ | bits); }
  ~ControlBits() { _mm_setcsr(before_); }
  ControlBits(const ControlBits&) = delete;
  ControlBits& operator=(const ControlBits&) = delete;

 private:
  unsigned before_;
};

}  // namespace gqa::test
#endif
