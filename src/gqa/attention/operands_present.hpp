// Which optional operands a problem has, for the contract in words.
#pragma once

#include <cstdint>
#include <string>

#include "gqa/attention/attention_problem.hpp"

namespace gqa {

/// Optional operands of a problem.
struct OperandsPresent {
  std::int64_t past = 0;  ///< past keys
  bool mask = false;      ///< something is hidden by attn_mask
  bool bias = false;      ///< attn_mask holds numbers
  bool sink = false;
  bool slopes = false;
  bool lengths = false;
};

/// `problem` was made of `tensors`.
OperandsPresent operands_present(const AttentionProblem& problem, const ProblemTensors& tensors);

/// The rules that the operands add to a contract, each behind ", ": ", boolean mask, sinks";
/// empty without any.
std::string describe(const OperandsPresent& operands);

}  // namespace gqa
