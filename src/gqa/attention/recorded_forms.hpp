// What a recording holds in a form of its own, brought into the form that everything else reads.
#pragma once

#include "gqa/attention/contract.hpp"
#include "gqa/attention/problem_tensors.hpp"

namespace gqa {

/// A recording in the plain forms: lse and grad_lse [B, Hq, T] ([Hq, total] of packed documents),
/// no static cache. `contract` says what is left to be said of `tensors`.
struct PlainRecording {
  ProblemTensors tensors;
  Contract contract;
};

/// Brings into plain form:
///   - lse and grad_lse whose axes are Contract::lse.layout;
///   - a static cache: past_key and past_value of a capacity C, of which past_lengths [B] rows are
///     valid. The new keys stand in the slots from there on, so that `key` becomes the cache after
///     the step, [B, Hkv, C, dk] (and so `value`), nonpad_kv_seqlen past_lengths + S, and
///     present_key is compared with the whole of it. Without past_lengths it is such a cache if
///     present_key has C rows, not C + S, and nonpad_kv_seqlen says how many are valid after the
///     step;
///   - present_key and present_value with room behind the P + S rows that the step leaves, if
///     nonpad_kv_seqlen says that these are all: what the room holds is nobody's business.
///
/// The cache is copied once. Errors: InputError "contract.static_cache" at the tensor that
/// contradicts (lengths that do not fit the capacity or nonpad_kv_seqlen; gradients of keys, which
/// static caches have none of); "contract.shape_rank", "contract.shape_mismatch",
/// "contract.element_type".
PlainRecording plain_recording(const ProblemTensors& tensors, const Contract& contract);

}  // namespace gqa
