// Rung 3: where an output element is rational, exactly (THEORY 4).
#include <cmath>
#include <map>
#include <utility>

#include "gqa/audit/enclosure.hpp"

namespace gqa {
namespace {

// A score a / sqrt(d) + b with rational a and b. Where d is a square, or the scale is
// stated, a is folded into b. 1 and sqrt(d) are independent otherwise, so two scores are
// equal exactly if both parts are.
struct AlgebraicScore {
  Rational irrational_part;
  Rational rational_part;
  friend bool operator<(const AlgebraicScore& x, const AlgebraicScore& y) {
    if (x.irrational_part != y.irrational_part) return x.irrational_part < y.irrational_part;
    return x.rational_part < y.rational_part;
  }
};

// sqrt(d) if it is an integer.
std::optional<std::int64_t> integer_root(std::int64_t d) {
  const auto root = static_cast<std::int64_t>(std::llround(std::sqrt(static_cast<double>(d))));
  return root * root == d ? std::optional(root) : std::nullopt;
}

AlgebraicScore scaled_score(const Contract& contract, std::int64_t key_size,
                            const Rational& product, const Rational& bias) {
  if (contract.scale) return {0, Rational(*contract.scale * product + bias)};
  if (const auto root = integer_root(key_size)) {
    return {0, Rational(product / Rational(static_cast<long>(*root)) + bias)};
  }
  return {product, bias};
}

struct ScoreGroup {
  Rational value_sum;
  std::int64_t keys = 0;
  bool has_sink = false;
};

// The value c that all groups agree on, if they do: sum (v_j - c) = 0 within each; a sink
// in the group counts as one more key of value 0.
std::optional<Rational> common_mean(const std::map<AlgebraicScore, ScoreGroup>& groups) {
  std::optional<Rational> common;
  for (const auto& [score, group] : groups) {
    const std::int64_t members = group.keys + (group.has_sink ? 1 : 0);
    const Rational mean = group.value_sum / Rational(static_cast<long>(members));
    if (common && *common != mean) return std::nullopt;
    common = mean;
  }
  return common;
}

}  // namespace

std::optional<Rational> EnclosureReader::rational_output(std::int64_t head, std::int64_t row,
                                                         const std::vector<std::size_t>& visible,
                                                         std::int64_t column) const {
  if (problem_.contract.softcap != 0) return std::nullopt;
  const std::int64_t dk = problem_.dimensions.key_size;
  const std::vector<Ball> bias = bias_row(head, row, visible);
  std::map<AlgebraicScore, ScoreGroup> groups;
  for (const std::size_t j : visible) {
    const auto key_row = static_cast<std::int64_t>(j);
    Rational product;
    for (std::int64_t t = 0; t < dk; ++t) {
      product += Rational(problem_.query.value(batch_, head, row, t)) *
                 Rational(problem_.key.value(batch_, kv_head_, key_row, t));
    }
    Rational added;
    if (!bias.empty()) {
      if (!bias[j].is_exact()) return std::nullopt;
      added = bias[j].lower();
    }
    ScoreGroup& group = groups[scaled_score(problem_.contract, dk, product, added)];
    group.value_sum += Rational(problem_.value.value(batch_, kv_head_, key_row, column));
    ++group.keys;
  }
  if (const auto logit = problem_.sink_of(head)) groups[{0, Rational(*logit)}].has_sink = true;
  return common_mean(groups);
}

}  // namespace gqa
