// The raw tensors of one problem.
#pragma once

#include <memory>

#include "gqa/attention/typed_tensor.hpp"

namespace gqa {

/// Raw tensors by the names of docs/contract.md, in the declared layout; absent ones are null.
struct ProblemTensors {
  std::shared_ptr<const TypedTensor> query;
  std::shared_ptr<const TypedTensor> key;
  std::shared_ptr<const TypedTensor> value;
  std::shared_ptr<const TypedTensor> output;
  std::shared_ptr<const TypedTensor> past_key;
  std::shared_ptr<const TypedTensor> past_value;
  std::shared_ptr<const TypedTensor> past_lengths;
  std::shared_ptr<const TypedTensor> attn_mask;
  std::shared_ptr<const TypedTensor> nonpad_kv_seqlen;
  std::shared_ptr<const TypedTensor> sink;
  std::shared_ptr<const TypedTensor> alibi_slopes;
  // Packed documents (layout THD): cut_documents makes a problem of each.
  std::shared_ptr<const TypedTensor> cu_seqlens_q;
  std::shared_ptr<const TypedTensor> cu_seqlens_k;
  // Further outputs, audited where they are there; in the layouts that docs/contract.md states.
  std::shared_ptr<const TypedTensor> present_key;
  std::shared_ptr<const TypedTensor> present_value;
  std::shared_ptr<const TypedTensor> qk_matmul_output;
  std::shared_ptr<const TypedTensor> lse;
  // Of a backward pass: what it is given besides the inputs, shaped as output, and what it
  // gives, shaped as query, key and value; in their layouts.
  std::shared_ptr<const TypedTensor> grad_output;
  std::shared_ptr<const TypedTensor> grad_lse;  // as lse: of a loss that reads it too
  std::shared_ptr<const TypedTensor> grad_query;
  std::shared_ptr<const TypedTensor> grad_key;
  std::shared_ptr<const TypedTensor> grad_value;
  int qk_matmul_output_mode = 0;  ///< 0 scaled scores, 1 after softcap, 2 after bias, 3 weights
};

}  // namespace gqa
