#include "gqa/audit/filter/small_values.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace gqa {

SmallValues::SmallValues(const AttentionProblem& problem, std::int64_t batch,
                         std::int64_t kv_head) {
  const Dimensions& d = problem.dimensions;
  const auto columns = static_cast<std::size_t>(d.value_size);
  counts_.assign(columns * levels, 0);
  constexpr std::int64_t block = 256;
  std::vector<double> values(block * columns);
  for (std::int64_t begin = 0; begin < d.keys; begin += block) {
    const std::int64_t end = std::min(d.keys, begin + block);
    problem.value.read_rows(batch, kv_head, begin, end, values.data(), columns);
    const auto read = static_cast<std::size_t>(end - begin) * columns;
    for (std::size_t e = 0; e < read; ++e) {
      // Subnormal numbers and zero have the exponent 0 there; what is not finite counts as small.
      constexpr int bias = 1023, not_finite = 0x7FF;
      const int exponent = static_cast<int>(std::bit_cast<std::uint64_t>(values[e]) >> 52) & 0x7FF;
      const bool is_finite = exponent != not_finite;
      const int level = is_finite ? std::clamp(exponent - bias - lowest, 0, levels - 1) : 0;
      ++counts_[index(static_cast<std::int64_t>(e % columns), level)];
    }
  }
  for (std::int64_t c = 0; c < d.value_size; ++c) {
    for (int level = 1; level < levels; ++level) {
      counts_[index(c, level)] += counts_[index(c, level - 1)];
    }
  }
}

// |v| < bound has at most the exponent of the bound.
std::int64_t SmallValues::count_below(std::int64_t column, double bound) const {
  const double largest = std::ldexp(1.0, lowest + levels - 1);
  const int level =
      bound < largest ? std::clamp(std::ilogb(bound) - lowest, 0, levels - 1) : levels - 1;
  return counts_[index(column, level)];
}

}  // namespace gqa
