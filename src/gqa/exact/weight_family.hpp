// The six rational softmax-weight fixtures of the enumeration.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "gqa/num/word_fraction.hpp"

namespace gqa {

/// A rule that gives every query head h and key j a positive rational strength, the
/// exponential of the score up to a factor common to the row.
struct WeightFamily {
  std::string_view name;
  WordFraction (*strength)(std::int64_t head, std::int64_t key);
};

/// uniform 1; arithmetic h+j+1; descending h+4-j; powers_of_two 2^((h+j) mod 4);
/// reciprocals 1/(h+j+1); primes P[(h+j) mod 8] / P[(j+3) mod 8] with
/// P = 2, 3, 5, 7, 11, 13, 17, 19. All are positive for h >= 0 and 0 <= j < 4.
extern const std::array<WeightFamily, 6> weight_families;

}  // namespace gqa
