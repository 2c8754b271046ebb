// Scores as algebraic numbers, for questions that only exact arithmetic settles (docs/theory.md,
// "Rung 3: ties").
#pragma once

#include <cstdint>

#include "gqa/attention/attention_problem.hpp"

namespace gqa {

/// A score a / sqrt(d) + b with rational a and b. Where d is a square, or the scale is
/// stated, a is folded into b. 1 and sqrt(d) are independent otherwise, so two scores are
/// equal exactly if both parts are, and a score is rational exactly if a is zero.
struct AlgebraicScore {
  Rational irrational_part;
  Rational rational_part;
  friend bool operator==(const AlgebraicScore&, const AlgebraicScore&) = default;
  friend bool operator<(const AlgebraicScore& x, const AlgebraicScore& y) {
    if (x.irrational_part != y.irrational_part) return x.irrational_part < y.irrational_part;
    return x.rational_part < y.rational_part;
  }
};

/// scale * product + bias.
AlgebraicScore scaled_score(const Contract& contract, std::int64_t key_size,
                            const Rational& product, const Rational& bias);

/// <query[b, h, row], key[b, kv, j]>, exactly. Precondition: both are finite.
Rational exact_product(const AttentionProblem& problem, std::int64_t batch, std::int64_t head,
                       std::int64_t kv_head, std::int64_t row, std::int64_t key);

}  // namespace gqa
