// Mean pooling of KV heads: what checkpoint conversion does to independent histories.
#pragma once

#include <fmt/format.h>

#include "gqa/attention/tensor.hpp"
#include "gqa/error.hpp"

namespace gqa {

/// [B, H, S, x] -> [B, kv_heads, S, x]: the mean of every H/kv_heads consecutive heads.
/// T is an exact field.
/// Errors: InputError at "kv_num_heads" with code "pooling.heads_not_divisible".
/// Source: Ainslie et al., GQA (2023), section 2.1 (conversion by mean pooling).
template <class T>
Tensor<T> mean_pool_heads(const Tensor<T>& heads, std::int64_t kv_heads) {
  if (kv_heads <= 0 || heads.extent(1) % kv_heads != 0) {
    throw InputError(
        "pooling.heads_not_divisible", "kv_num_heads",
        fmt::format("{} heads cannot be pooled evenly into {}", heads.extent(1), kv_heads));
  }
  const std::int64_t group_size = heads.extent(1) / kv_heads;
  Tensor<T> pooled({heads.extent(0), kv_heads, heads.extent(2), heads.extent(3)}, T(0));
  for (std::int64_t b = 0; b < heads.extent(0); ++b) {
    for (std::int64_t h = 0; h < heads.extent(1); ++h) {
      const auto from = heads.matrix(b, h);
      const auto to = pooled.matrix(b, h / group_size);
      for (std::size_t r = 0; r < from.rows(); ++r) {
        for (std::size_t c = 0; c < from.columns(); ++c) {
          to(r, c) += T(from(r, c) / T(static_cast<int>(group_size)));
        }
      }
    }
  }
  return pooled;
}

}  // namespace gqa
