// Many elements of a float format at once, as fast as they can be read.
#pragma once

#include <cstddef>

#include "gqa/num/float_format.hpp"

namespace gqa {

/// Writes the exact values of `count` consecutive little-endian elements, as decode() of each gives
/// them (a NaN may have another payload). Precondition: `format` is one of float_format.hpp's.
void decode_elements(const FloatFormat& format, const std::byte* from, std::size_t count,
                     double* to);

}  // namespace gqa
