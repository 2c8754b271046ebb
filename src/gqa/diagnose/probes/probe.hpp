// Probes: small problems on which right and wrong implementations differ by far more than
// rounding.
#pragma once

#include <cstdint>
#include <string>

#include "gqa/attention/attention_problem.hpp"

namespace gqa {

/// One problem to be put before an implementation. Every operand is an integer or a dyadic
/// number that float8 e4m3fn holds, so that all element types get the same numbers.
struct Probe {
  std::string name;        ///< "causal_chunk"
  std::string reads;       ///< what it tells apart, in words
  ProblemTensors tensors;  ///< without output
  Contract contract;
  std::int64_t key_row_stride_factor = 1;  ///< key rows this many widths apart
  /// What was changed for a kernel that takes one kind of problem only: "causal", "the last row
  /// alone"; empty: nothing.
  std::string habit = {};
};

}  // namespace gqa
