// Which keys are added first: large values that cancel among units, under equal weights.
#pragma once

#include <vector>

#include "gqa/diagnose/arithmetic/experiments.hpp"
#include "gqa/diagnose/arithmetic/sum_order.hpp"

namespace gqa {

/// Three leaves of sets of keys with several strides, over all keys and over half of them: what has
/// the same size over both is a tile, what is halved is a split. Empty if the kernel refused, or if
/// what it returned is no count. 4 to 12 calls.
std::vector<PathReading> read_key_paths(Experiments& experiments);

}  // namespace gqa
