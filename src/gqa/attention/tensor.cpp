#include "gqa/attention/tensor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gqa/error.hpp"

namespace gqa {

std::string to_text(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::int64_t element_count(const Shape& shape, const std::string& where) {
  constexpr std::int64_t limit = std::int64_t{1} << 62;
  bool has_zero = false;
  for (const std::int64_t extent : shape) {
    if (extent < 0) {
      throw InputError("tensor.negative_extent", where,
                       fmt::format("shape {} has a negative extent", to_text(shape)));
    }
    has_zero = has_zero || extent == 0;
  }
  if (has_zero) return 0;
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent > limit / count) {
      throw InputError("tensor.too_large", where,
                       fmt::format("shape {} has more than 2^62 elements", to_text(shape)));
    }
    count *= extent;
  }
  return count;
}

}  // namespace gqa
