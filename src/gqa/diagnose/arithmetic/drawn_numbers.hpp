// Uniform numbers for probes, the same on every machine.
#pragma once

#include "gqa/num/split_mix.hpp"

namespace gqa {

class DrawnNumbers {
 public:
  explicit DrawnNumbers(std::uint64_t seed) : random_(seed) {}
  double uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(random_.next() >> 11) * 0x1p-53;
  }
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(n)));
  }

 private:
  SplitMix64 random_;
};

/// Is the square root of n a power of two?
inline bool is_power_of_four(std::int64_t n) {
  while (n > 1 && n % 4 == 0) n /= 4;
  return n == 1;
}

}  // namespace gqa
