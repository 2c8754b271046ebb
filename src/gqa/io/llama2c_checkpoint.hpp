// Checkpoints of the llama2.c program: a header of seven integers, then binary32 arrays.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "gqa/attention/tensor.hpp"

namespace gqa {

/// What the theory needs of such a model.
struct Llama2cCheckpoint {
  std::int64_t model_size = 0;
  std::int64_t q_num_heads = 0;
  std::int64_t kv_num_heads = 0;
  /// Wo of every layer, [model_size, model_size]: rows are outputs, columns the heads' values
  /// side by side.
  std::vector<Tensor<double>> output_projections;
};

/// Reads the legacy format (version 0): int32 dim, hidden_dim, n_layers, n_heads, n_kv_heads,
/// vocab_size (negative: a classifier of its own follows), seq_len, all little-endian; then token
/// embedding, attention norms, Wq, Wk, Wv, Wo, feed-forward norms, W1, W2, W3, final norm and
/// the rotary table.
///
/// Errors: those of read_file; InputError at the path: "checkpoint.header" (a size that is not in
/// 1..2^20, heads that do not divide), "checkpoint.size" (not the bytes that the header
/// asks for).
/// Source: struct Config and memory_map_weights in run.c of llama2.c.
Llama2cCheckpoint read_llama2c_checkpoint(const std::filesystem::path& path);

}  // namespace gqa
