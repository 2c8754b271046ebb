#include "gqa/attention/problem_tensor_names.hpp"

#include <array>

namespace gqa {
namespace {

constexpr std::array inputs{
    NamedProblemTensor{"query", &ProblemTensors::query},
    NamedProblemTensor{"key", &ProblemTensors::key},
    NamedProblemTensor{"value", &ProblemTensors::value},
    NamedProblemTensor{"past_key", &ProblemTensors::past_key},
    NamedProblemTensor{"past_value", &ProblemTensors::past_value},
    NamedProblemTensor{"past_lengths", &ProblemTensors::past_lengths},
    NamedProblemTensor{"attn_mask", &ProblemTensors::attn_mask},
    NamedProblemTensor{"nonpad_kv_seqlen", &ProblemTensors::nonpad_kv_seqlen},
    NamedProblemTensor{"sink", &ProblemTensors::sink},
    NamedProblemTensor{"alibi_slopes", &ProblemTensors::alibi_slopes},
    NamedProblemTensor{"cu_seqlens_q", &ProblemTensors::cu_seqlens_q},
    NamedProblemTensor{"cu_seqlens_k", &ProblemTensors::cu_seqlens_k},
    NamedProblemTensor{"grad_output", &ProblemTensors::grad_output},
    NamedProblemTensor{"grad_lse", &ProblemTensors::grad_lse},
};

constexpr std::array outputs{
    NamedProblemTensor{"output", &ProblemTensors::output},
    NamedProblemTensor{"present_key", &ProblemTensors::present_key},
    NamedProblemTensor{"present_value", &ProblemTensors::present_value},
    NamedProblemTensor{"qk_matmul_output", &ProblemTensors::qk_matmul_output},
    NamedProblemTensor{"lse", &ProblemTensors::lse},
    NamedProblemTensor{"grad_query", &ProblemTensors::grad_query},
    NamedProblemTensor{"grad_key", &ProblemTensors::grad_key},
    NamedProblemTensor{"grad_value", &ProblemTensors::grad_value},
};

}  // namespace

std::span<const NamedProblemTensor> input_tensors() {
  return inputs;
}
std::span<const NamedProblemTensor> output_tensors() {
  return outputs;
}

void forget_outputs(ProblemTensors& tensors) {
  for (const NamedProblemTensor& output : outputs) (tensors.*output.field).reset();
  tensors.grad_output.reset();
  tensors.grad_lse.reset();
}

}  // namespace gqa
