// From an ONNX attention node and its tensors to an attention problem.
#pragma once

#include <string>

#include "gqa/io/onnx_model.hpp"
#include "gqa/io/recording.hpp"

namespace gqa {

/// The problem of a model whose node is one of
/// - `Attention` of ONNX, opset 23, 24 or 25 (windows from 25, lengths from 24);
/// - `GroupQueryAttention` or `MultiHeadAttention` of com.microsoft, where every input,
///   attribute and recorded output that is there maps onto the contract.
///
/// `values` holds the recorded inputs and outputs by their names in the graph. Query, key
/// and value of rank 3 are of layout BSH, of rank 4 BHSD. softmax_precision is checked and
/// has no effect: the reference is real-valued.
///
/// Errors, all InputError at `where: node NAME: ...`: those of OnnxArguments and
/// - "onnx.unsupported_operator", "onnx.unsupported_opset"
/// - "onnx.rank": query, key and value of ranks other than 3 or 4, or of different ones
/// - "onnx.heads_mismatch": a head count that is not the tensors'
/// - "onnx.packed_inputs": query, key and value in one tensor
/// - "onnx.ragged_batch": seqlens_k or total_sequence_length differ from past + new keys
///
/// Sources: ONNX's documentation of Attention and its reference implementation
/// (onnx/reference/ops/op_attention.py); ONNX Runtime's docs/ContribOperators.md.
Recording bind_onnx_attention(const OnnxModel& model, const OnnxValues& values,
                              const std::string& where);

}  // namespace gqa
