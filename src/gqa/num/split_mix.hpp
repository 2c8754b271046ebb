// Random numbers that are the same on every machine, unlike the standard's distributions.
#pragma once

#include <cstdint>

namespace gqa {

/// SplitMix64 in its authors' form: a Weyl sequence through a 64-bit mixing function.
/// Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014;
/// the constants are Vigna's.
class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  /// Of [0, n), n > 0, without bias: 2^64 - (2^64 mod n) is a multiple of n.
  std::uint64_t below(std::uint64_t n) {
    const std::uint64_t surplus = (0 - n) % n;
    std::uint64_t drawn = next();
    while (drawn < surplus) drawn = next();
    return drawn % n;
  }

 private:
  std::uint64_t state_;
};

}  // namespace gqa
