// The tensors of a problem by the names of docs/contract.md.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "gqa/attention/attention_problem.hpp"

namespace gqa {

struct NamedProblemTensor {
  std::string_view name;
  std::shared_ptr<const TypedTensor> ProblemTensors::*field;
};

/// What an implementation is given: query, key, value, caches, mask, lengths, ...; for a backward
/// pass also grad_output.
std::span<const NamedProblemTensor> input_tensors();
/// What it gives: output, present_key, present_value, qk_matmul_output, lse, grad_query, grad_key,
/// grad_value.
std::span<const NamedProblemTensor> output_tensors();

/// Calls `visit` with every tensor of a problem, inputs first: the one list for whoever reads,
/// compares or digests them. (The kernel's memory has an order of its own, which its host process
/// shares: kernel/host_protocol.hpp.)
template <class Visit>
void for_each_tensor(Visit&& visit) {
  for (const auto& tensors : {input_tensors(), output_tensors()}) {
    for (const NamedProblemTensor& tensor : tensors) visit(tensor);
  }
}

/// Leaves what a forward pass is given.
void forget_outputs(ProblemTensors& tensors);

}  // namespace gqa
