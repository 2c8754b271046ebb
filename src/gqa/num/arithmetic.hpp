// Small words of arithmetic that formulas in every room use.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gqa {

template <class T>
T square(const T& x) {
  return x * x;
}

/// A signed extent as the standard library counts. Precondition: n >= 0.
constexpr std::size_t extent(std::int64_t n) {
  return static_cast<std::size_t>(n);
}

}  // namespace gqa
