// Norms of operand rows, as the rounding bounds ask for them.
#pragma once

#include <span>

#include "gqa/num/ball.hpp"

namespace gqa {

/// Encloses |x|_2.
Ball norm2(std::span<const Ball> x);
/// Encloses |x|_4^2 = sqrt(sum x^4).
Ball norm4_squared(std::span<const Ball> x);

}  // namespace gqa
