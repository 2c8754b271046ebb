// The names under which recordings hold their tensors.
#pragma once

#include <map>
#include <string>

#include "gqa/attention/attention_problem.hpp"

namespace gqa {

/// Puts every tensor into the field of its name in docs/contract.md; query, key, value and output
/// may be called q, k, v and o. An integer tensor of one element named "qk_matmul_output_mode" says
/// which of its four forms qk_matmul_output has; without it, 0.
///
/// Errors: InputError at `where: NAME`: "recording.unknown_tensor",
/// "recording.tensor_stated_twice" (q and query), "recording.qk_matmul_output_mode".
ProblemTensors assign_tensors(std::map<std::string, TypedTensor>&& tensors,
                              const std::string& where);

}  // namespace gqa
