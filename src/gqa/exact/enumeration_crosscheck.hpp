// The cases of the enumeration through the floats.
#pragma once

#include <array>
#include <cstdint>

#include "gqa/exact/crosscheck.hpp"

namespace gqa {

/// Every case of the enumeration evaluated in every check format.
struct EnumerationCrossCheck {
  std::int64_t cases = 0;
  std::array<std::int64_t, check_formats.size()> within{};  ///< cases within tolerance
  /// All cases joined, per format.
  std::array<CrossCheck, check_formats.size()> worst{};

  bool holds() const;
};

/// Errors: those of enumeration_cases.
EnumerationCrossCheck crosscheck_cases(std::int64_t max_heads);

}  // namespace gqa
