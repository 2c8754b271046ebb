#include "gqa/theory/weight_pooling.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gqa/error.hpp"
#include "gqa/theory/pooling_condition.hpp"

namespace gqa {
namespace {

void require_shape(const RationalMatrices& weights, std::size_t heads, std::size_t rows,
                   std::size_t columns, const char* where) {
  const bool fits = !weights.empty() && weights.size() == heads &&
                    std::ranges::all_of(weights, [&](const RationalMatrix& one) {
                      return has_shape(one, rows, columns);
                    });
  if (!fits) {
    throw InputError("pooling.shape", where,
                     fmt::format("is not [{}, {}, {}] of positive extents", heads, rows, columns));
  }
}

std::size_t rows_of(const RationalMatrices& weights) {
  return weights.empty() ? 0 : weights[0].size();
}
std::size_t columns_of(const RationalMatrices& weights) {
  return rows_of(weights) == 0 ? 0 : weights[0][0].size();
}

// query^T (key - mean), or key - mean if there is no query.
bool scores_change(const RationalMatrix& key, const RationalMatrix& mean,
                   const RationalMatrix* query) {
  if (query == nullptr) return key != mean;
  for (std::size_t a = 0; a < (*query)[0].size(); ++a) {
    for (std::size_t b = 0; b < key[0].size(); ++b) {
      Rational sum = 0;
      for (std::size_t r = 0; r < key.size(); ++r) sum += (*query)[r][a] * (key[r][b] - mean[r][b]);
      if (sum != 0) return true;
    }
  }
  return false;
}

}  // namespace

std::optional<WeightPoolingLoss> weight_pooling_loss(const RationalMatrices& key_weights,
                                                     const RationalMatrices& value_weights,
                                                     const RationalMatrices& query_weights) {
  const std::size_t heads = key_weights.size();
  const std::size_t width = columns_of(key_weights);
  require_shape(key_weights, heads, rows_of(key_weights), width, "key_weights");
  require_shape(value_weights, heads, rows_of(value_weights), width, "value_weights");
  if (!query_weights.empty()) {
    require_shape(query_weights, heads, rows_of(key_weights), width, "query_weights");
  }
  for (const RationalMatrix& value : value_weights) {
    if (value != value_weights[0]) return WeightPoolingLoss::values_differ;
  }
  const auto no_values = [](const RationalVector& row) { return is_zero(row); };
  if (std::ranges::all_of(value_weights[0], no_values)) return std::nullopt;
  const RationalMatrix mean = mean_of(key_weights);
  for (std::size_t h = 0; h < heads; ++h) {
    const RationalMatrix* query = query_weights.empty() ? nullptr : &query_weights[h];
    if (scores_change(key_weights[h], mean, query)) return WeightPoolingLoss::scores_differ;
  }
  return std::nullopt;
}

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
