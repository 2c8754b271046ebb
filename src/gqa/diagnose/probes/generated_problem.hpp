// Random problems for a live kernel, over what it says it can do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gqa/attention/attention_problem.hpp"
#include "gqa/kernel/host.hpp"

namespace gqa {

struct GeneratedProblem {
  std::string name;        ///< "problem 3"
  ProblemTensors tensors;  ///< without output
  Contract contract;
};

/// `count` problems with normal operands rounded to `type`: prefill, decoding, chunks of a longer
/// history; MHA, MQA and groups between; sizes that tiles do not divide; and each time a random
/// choice of the rules that the kernel can follow. The same seed gives the same problems on every
/// machine.
std::vector<GeneratedProblem> generated_problems(const KernelCapabilities& capabilities,
                                                 ElementType type, std::int64_t count,
                                                 std::uint64_t seed);

}  // namespace gqa
