// The packed layout: documents one behind the other, without padding.
#pragma once

#include <cstdint>
#include <vector>

#include "gqa/attention/attention_problem.hpp"

namespace gqa {

/// One document of a packed problem, as a problem of its own with one batch entry.
struct PackedDocument {
  std::int64_t index = 0;  ///< among all documents, those without queries counted
  ProblemTensors tensors;  ///< layout THD
};

/// Cuts the tensors of layout THD at cu_seqlens_q and cu_seqlens_k ([N + 1], int32 or int64):
/// document n has the query and output rows [cu_seqlens_q[n], cu_seqlens_q[n + 1]) and the key
/// and value rows of cu_seqlens_k; without cu_seqlens_k both are cut alike, and so are gradients.
/// No row sees another document. sink and alibi_slopes [Hq] belong to all documents, alibi_slopes
/// [N, Hq] and lse [Hq, total] are cut. Documents without a query row have nothing to audit and are
/// left out. Without cu_seqlens_q the tensors come back as they are, as document 0.
///
/// Errors: InputError at the tensor's name:
/// - "contract.packed_layout": cu_seqlens with a layout other than THD
/// - "contract.packed_offsets": not [N + 1] integers from 0 to the number of rows that never
///   fall, cu_seqlens_k without cu_seqlens_q, or for another number of documents
/// - "contract.packed_tensor": a tensor that has no packed form here (past_*, present_*,
///   attn_mask, nonpad_kv_seqlen, qk_matmul_output); grad_key or grad_value where a document has
///   keys and no query row
/// - "contract.missing_tensor", "contract.shape_rank", "contract.shape_mismatch"
/// - "audit.nothing_to_audit" at "cu_seqlens_q": no document has a query row
/// Source: flash_attn_varlen_func of flash-attention (flash_attn/flash_attn_interface.py).
std::vector<PackedDocument> cut_documents(const ProblemTensors& tensors, const Contract& contract);

}  // namespace gqa
