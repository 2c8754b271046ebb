// Ranks of the groups of recorded layers: exact rank, certified participation ratio.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gqa/attention/attention_problem.hpp"
#include "gqa/num/ball.hpp"

namespace gqa {

/// What the outputs of one group span. C [T, G d_v] holds the outputs of the group's query
/// heads side by side; with an output projection each is multiplied by its head's part W_h
/// [d_v, d_model] of it, which makes C [T, G d_model]. A = C^T C.
struct GroupRank {
  std::int64_t batch = 0;
  std::int64_t kv_head = 0;
  std::vector<std::int64_t> query_heads;
  std::int64_t rows = 0;     ///< T
  std::int64_t columns = 0;  ///< G d_v
  /// Of C with softmax(scale Q K^T) V of the recorded operands as real numbers: proved to be G d_v
  /// by factorisations in balls, otherwise 0.
  std::int64_t certified_rank = 0;
  /// Of C with the recorded output's own numbers, modulo a prime, which is a lower bound; 0 if
  /// the recording has none.
  std::int64_t recorded_rank = 0;
  Ball participation_ratio;  ///< (tr A)^2 / tr(A^2)
  Ball stable_rank;          ///< tr A / largest eigenvalue of A

  /// min(T, G d_v), a rank that C cannot exceed.
  std::int64_t full_rank() const { return rows < columns ? rows : columns; }
  /// The certified rank is full and both ratios are enclosed to 10 digits.
  bool certified() const;
};

/// Every batch entry and KV head of a problem; heads by the problem's head map.
/// `output_projection` [d_model, Hq d_v] or null: Wo, whose columns are the heads side by side.
///
/// Errors: InputError at "attn_mask" or "alibi_slopes" with code "rank.bias" (scores with a
/// bias are not covered); at "query", "key", "value" or "output_projection" with code
/// "rank.not_finite"; at "output_projection": "rank.projection_shape".
std::vector<GroupRank> group_ranks(const AttentionProblem& problem,
                                   const Tensor<double>* output_projection = nullptr);

/// tr A, (tr A)^2 / tr(A^2) and tr A / lambda_max of a symmetric matrix A = C^T C that is
/// enclosed, [n, n]. Results that cannot be enclosed are not finite.
struct Spectrum {
  bool positive_definite = false;  ///< proved: A has full rank
  Ball participation_ratio;
  Ball stable_rank;
};

/// Source: participation ratio and stable rank as in docs/theory.md, "Ranks". The largest
/// eigenvalue lies above the Rayleigh quotient of any vector, and below t if t I - A is
/// positive definite, which a Cholesky factorisation in balls proves.
Spectrum spectrum(const Tensor<Ball>& gram);

}  // namespace gqa
