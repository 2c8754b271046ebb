// Rung 3: where an output element is rational, exactly (docs/theory.md, "Rung 3: ties").
#include <map>

#include "gqa/audit/enclose/algebraic_score.hpp"
#include "gqa/audit/enclose/enclosure.hpp"

namespace gqa {
namespace {

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
  std::map<AlgebraicScore, ScoreGroup> groups;
  for (const std::size_t j : visible) {
    const auto key_row = static_cast<std::int64_t>(j);
    const Rational product = exact_product(problem_, batch_, head, kv_head_, row, key_row);
    // The bias as a rational: rounded to any number of bits, equal scores would look different.
    ScoreGroup& group =
        groups[scaled_score(problem_.contract, dk, product, bias_of(head, row, j).sum())];
    group.value_sum += Rational(problem_.value.value(batch_, kv_head_, key_row, column));
    ++group.keys;
  }
  if (const auto logit = problem_.sink_of(head)) groups[{0, Rational(*logit)}].has_sink = true;
  return common_mean(groups);
}

}  // namespace gqa
