// How pooled weights were made of the heads.
#include <fmt/format.h>

#include "gqa/error.hpp"
#include "gqa/theory/weight_pooling.hpp"

namespace gqa {

std::string name(PoolingRule rule) {
  switch (rule) {
    case PoolingRule::contiguous_mean:
      return "contiguous_mean";
    case PoolingRule::strided_mean:
      return "strided_mean";
    case PoolingRule::contiguous_sum:
      return "contiguous_sum";
    case PoolingRule::first_of_group:
      break;
  }
  return "first_of_group";
}

RationalMatrix pooled_by(PoolingRule rule, const RationalMatrix& heads, std::size_t kv_heads) {
  if (kv_heads == 0 || heads.empty() || heads.size() % kv_heads != 0) {
    throw InputError(
        "pooling.heads_not_divisible", "kv_num_heads",
        fmt::format("{} heads cannot be pooled evenly into {}", heads.size(), kv_heads));
  }
  const std::size_t group = heads.size() / kv_heads;
  const bool is_mean = rule == PoolingRule::contiguous_mean || rule == PoolingRule::strided_mean;
  RationalMatrix pooled(kv_heads, RationalVector(heads[0].size()));
  for (std::size_t h = 0; h < heads.size(); ++h) {
    if (rule == PoolingRule::first_of_group && h % group != 0) continue;
    RationalVector& to = pooled[rule == PoolingRule::strided_mean ? h % kv_heads : h / group];
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += heads[h][i];
  }
  for (RationalVector& row : pooled) {
    for (Rational& x : row) {
      if (is_mean) x /= static_cast<unsigned long>(group);
    }
  }
  return pooled;
}

std::vector<RuleMatch> identify_pooling(const RationalMatrix& heads, const RationalMatrix& pooled,
                                        const FloatFormat* format) {
  std::vector<RuleMatch> matches;
  for (const PoolingRule rule : {PoolingRule::contiguous_mean, PoolingRule::strided_mean,
                                 PoolingRule::contiguous_sum, PoolingRule::first_of_group}) {
    const RationalMatrix expected = pooled_by(rule, heads, pooled.size());
    RuleMatch match{rule, true, 0};
    for (std::size_t r = 0; r < pooled.size(); ++r) {
      if (pooled[r].size() != expected[r].size()) {
        throw InputError("pooling.shape", "pooled", "has other rows than the heads");
      }
      for (std::size_t i = 0; i < pooled[r].size(); ++i) {
        const Rational difference = abs(Rational(pooled[r][i] - expected[r][i]));
        if (difference > match.max_difference) match.max_difference = difference;
        if (difference == 0) continue;
        // An infinity or NaN after rounding compares unequal to every stored number.
        const bool rounded =
            format != nullptr &&
            decode(*format, round_to_nearest_even(*format, expected[r][i])) == pooled[r][i].get_d();
        match.matches = match.matches && rounded;
      }
    }
    matches.push_back(std::move(match));
  }
  return matches;
}

}  // namespace gqa
