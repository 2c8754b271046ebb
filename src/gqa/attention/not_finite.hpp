// Inputs that are no numbers, by their place.
#pragma once

#include <string>
#include <vector>

#include "gqa/attention/problem_tensors.hpp"

namespace gqa {

/// For every floating-point input that holds NaN or infinity, its first such element and how many
/// there are: "query[0,1,3,2] is inf", "key[0,0,2,1] is nan, the first of 8 that are no numbers".
/// Indices are those of the tensor as it was recorded, counted from 0. A mask is left out: -inf
/// hides a key.
std::vector<std::string> not_finite_inputs(const ProblemTensors& tensors);

}  // namespace gqa
