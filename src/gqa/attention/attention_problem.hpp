// One float attention problem with its declared contract, ready to be audited.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "gqa/attention/contract.hpp"
#include "gqa/attention/dimensions.hpp"
#include "gqa/attention/strided_tensor.hpp"
#include "gqa/attention/visibility.hpp"

namespace gqa {

/// Raw tensors by the names of docs/contract.md, in the declared layout; absent ones are null.
struct ProblemTensors {
  std::shared_ptr<const TypedTensor> query;
  std::shared_ptr<const TypedTensor> key;
  std::shared_ptr<const TypedTensor> value;
  std::shared_ptr<const TypedTensor> output;
  std::shared_ptr<const TypedTensor> past_key;
  std::shared_ptr<const TypedTensor> past_value;
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
  std::shared_ptr<const TypedTensor> grad_query;
  std::shared_ptr<const TypedTensor> grad_key;
  std::shared_ptr<const TypedTensor> grad_value;
  int qk_matmul_output_mode = 0;  ///< 0 scaled scores, 1 after softcap, 2 after bias, 3 weights
};

/// Operands in BHSD order, checked against each other and the contract.
///
/// Real-valued: every operand is exactly the number its bits encode. `bias` holds the
/// finite part of a float mask (its minus infinities are invisible keys, in `visibility`).
struct AttentionProblem {
  Contract contract;
  Dimensions dimensions;
  std::vector<std::int64_t> head_map;               ///< KV head per query head
  StridedTensor query;                              ///< [B, Hq, T, dk]
  History key;                                      ///< [B, Hkv, P + S, dk]
  History value;                                    ///< [B, Hkv, P + S, dv]
  std::optional<Tensor<double>> bias;               ///< broadcastable to [B, Hq, T, P + S]
  std::optional<std::vector<double>> sink;          ///< [Hq]
  std::optional<std::vector<double>> alibi_slopes;  ///< [B * Hq], broadcast already
  Visibility visibility;
  std::optional<StridedTensor> output;  ///< [B, Hq, T, dv], what is audited

  /// The scale as a ball, at the thread's precision; and correctly to about 2 units in the
  /// last place as a double. Exact only if the contract states a number.
  Ball scale_ball() const;
  double scale_double() const;
  /// The sink's logit of a query head; nullopt if there is none, or it is minus infinity,
  /// whose exp adds nothing.
  std::optional<double> sink_of(std::int64_t head) const;
  /// The bias of one score: mask bias - slope |p_i - j|, as exact doubles to be summed.
  bool has_bias() const { return bias.has_value() || alibi_slopes.has_value(); }
};

/// Builds and validates a problem; its contract is the declared one, resolved by
/// resolve_dialect.
///
/// Errors: InputError at the tensor's or field's name: "contract.missing_tensor",
/// "contract.element_type", "contract.head_count" (declared heads that the tensors
/// contradict), "contract.not_a_number" (in a sink or slope), "contract.packed_not_cut"
/// (cu_seqlens are there: see cut_documents), and those of resolve_dialect,
/// validate, StridedTensor, resolve_dimensions, resolve_head_map and Visibility.
AttentionProblem make_problem(const ProblemTensors& tensors, const Contract& contract);

}  // namespace gqa
