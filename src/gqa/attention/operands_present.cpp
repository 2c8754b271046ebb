#include "gqa/attention/operands_present.hpp"

#include <fmt/format.h>

namespace gqa {

OperandsPresent operands_present(const AttentionProblem& problem, const ProblemTensors& tensors) {
  OperandsPresent operands;
  operands.past = problem.dimensions.past;
  operands.mask = problem.visibility.has_mask();
  operands.bias = problem.bias.has_value();
  operands.sink = problem.sink.has_value();
  operands.slopes = problem.alibi_slopes.has_value();
  operands.lengths = tensors.nonpad_kv_seqlen != nullptr;
  return operands;
}

std::string describe(const OperandsPresent& operands) {
  std::string text;
  if (operands.bias) {
    text += ", float mask";
  } else if (operands.mask) {
    text += ", boolean mask";
  }
  if (operands.slopes) text += ", ALiBi slopes";
  if (operands.sink) text += ", sinks";
  if (operands.lengths) text += ", cache lengths";
  if (operands.past > 0) text += fmt::format(", {} past keys", operands.past);
  return text;
}

}  // namespace gqa
