#include "gqa/audit/enclose/algebraic_score.hpp"

#include <cmath>
#include <optional>

namespace gqa {
namespace {

// sqrt(d) if it is an integer.
std::optional<std::int64_t> integer_root(std::int64_t d) {
  const auto root = static_cast<std::int64_t>(std::llround(std::sqrt(static_cast<double>(d))));
  return root * root == d ? std::optional(root) : std::nullopt;
}

}  // namespace

AlgebraicScore scaled_score(const Contract& contract, std::int64_t key_size,
                            const Rational& product, const Rational& bias) {
  if (contract.scale) return {0, Rational(*contract.scale * product + bias)};
  if (const auto root = integer_root(key_size)) {
    return {0, Rational(product / Rational(static_cast<long>(*root)) + bias)};
  }
  return {product, bias};
}

Rational exact_product(const AttentionProblem& problem, std::int64_t batch, std::int64_t head,
                       std::int64_t kv_head, std::int64_t row, std::int64_t key) {
  Rational product;
  for (std::int64_t t = 0; t < problem.dimensions.key_size; ++t) {
    product += Rational(problem.query.value(batch, head, row, t)) *
               Rational(problem.key.value(batch, kv_head, key, t));
  }
  return product;
}

}  // namespace gqa
