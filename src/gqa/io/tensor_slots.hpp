// The names under which recordings hold their tensors.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gqa/attention/attention_problem.hpp"

namespace gqa {

/// Which tensor of a file is which, where somebody says so.
struct TensorChoice {
  /// By name in docs/contract.md the name in the file, whole or without the prefix of its
  /// recording.
  std::map<std::string, std::string, std::less<>> named = {};
  std::vector<std::string> left_out = {};  ///< names in the file, likewise, that are not read

  bool is_empty() const { return named.empty() && left_out.empty(); }
};

/// One recording of a file that may hold several.
struct PrefixedTensors {
  std::string prefix;  ///< what its names begin with, without the separator: "layers.3"; or empty
  ProblemTensors tensors;
};

/// The name in docs/contract.md that a name in a file stands for: "query" for query, q, Q, q_proj,
/// query_states, ...; empty where it is none. Capitals do not matter.
std::string_view contract_name(std::string_view name);

/// Puts every tensor into the field of its name in docs/contract.md, under any of the words that
/// contract_name knows or that `choice` states. What stands before the word and a separator
/// ("layers.3.query", "block7/q_proj", "layer_3_k"; ggml's "Qcur-3") names a recording of its own;
/// tensors without such a prefix belong to all of them where they are no recording themselves (a
/// mask beside many layers). "padding_mask" is a mask [B, S], which becomes an attn_mask [B, 1, 1,
/// S]. Recordings come in the order of people: layer 2 before layer 10. An integer tensor of one
/// element named "qk_matmul_output_mode" says which of its four forms qk_matmul_output has; without
/// it, 0.
///
/// Errors: InputError at `where: NAME`: "recording.unknown_tensor" (with what the file holds),
/// "recording.tensor_stated_twice" (q and query), "recording.qk_matmul_output_mode"; at
/// "--tensor": "recording.no_such_tensor" (`choice` names what the file does not hold).
std::vector<PrefixedTensors> assign_tensors(std::map<std::string, TypedTensor>&& tensors,
                                            const std::string& where,
                                            const TensorChoice& choice = {});

/// "q [1, 8, 24, 16] binary32, k [1, 2, 24, 16] binary32": what a file holds, the first dozen.
std::string held_text(const std::map<std::string, TypedTensor>& tensors);

}  // namespace gqa
