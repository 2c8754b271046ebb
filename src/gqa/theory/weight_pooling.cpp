#include "gqa/theory/weight_pooling.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gqa/error.hpp"
#include "gqa/theory/head_scores.hpp"

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

void require_biases(const RationalMatrix& biases, std::size_t heads, std::size_t size,
                    const char* where) {
  if (biases.empty() || has_shape(biases, heads, size)) return;
  throw InputError("pooling.shape", where, fmt::format("is not [{}, {}]", heads, size));
}

std::size_t rows_of(const RationalMatrices& weights) {
  return weights.empty() ? 0 : weights[0].size();
}
std::size_t columns_of(const RationalMatrices& weights) {
  return rows_of(weights) == 0 ? 0 : weights[0][0].size();
}

void require_norm(const std::optional<RationalVector>& norm, std::size_t size, const char* where) {
  if (!norm || norm->size() == size) return;
  throw InputError("pooling.shape", where, fmt::format("is not [{}]", size));
}

void require_shapes(const ProjectionGroup& group) {
  const std::size_t heads = group.key_weights.size();
  const std::size_t size = rows_of(group.key_weights);
  const std::size_t width = columns_of(group.key_weights);
  require_shape(group.key_weights, heads, size, width, "key_weights");
  require_shape(group.value_weights, heads, rows_of(group.value_weights), width, "value_weights");
  if (!group.query_weights.empty()) {
    require_shape(group.query_weights, heads, size, width, "query_weights");
  }
  require_biases(group.query_biases, heads, size, "query_biases");
  require_biases(group.key_biases, heads, size, "key_biases");
  require_biases(group.value_biases, heads, rows_of(group.value_weights), "value_biases");
  require_norm(group.layer.query_norm, size, "query_norm");
  require_norm(group.layer.key_norm, size, "key_norm");
  if (group.layer.key_norm && !group.key_biases.empty()) {
    throw InputError("pooling.normalised_bias", "key_biases",
                     "biases of keys that are normalised are not decided");
  }
  for (const bool biased : {true, false}) {
    const bool there = biased ? !group.query_biases.empty() : group.layer.query_norm.has_value();
    if (!group.query_weights.empty() || !there) continue;
    throw InputError("pooling.no_query", biased ? "query_biases" : "query_norm",
                     "stands without query weights");
  }
}

}  // namespace

std::optional<WeightPoolingLoss> weight_pooling_loss(const ProjectionGroup& group) {
  require_shapes(group);
  for (std::size_t h = 0; h < group.heads(); ++h) {
    if (group.value_weights[h] != group.value_weights[0] ||
        (!group.value_biases.empty() && group.value_biases[h] != group.value_biases[0])) {
      return WeightPoolingLoss::values_differ;
    }
  }
  const auto no_values = [](const RationalVector& row) { return is_zero(row); };
  if (std::ranges::all_of(group.value_weights[0], no_values)) return std::nullopt;
  for (std::size_t h = 0; h < group.heads(); ++h) {
    if (HeadScores(group, h).change()) return WeightPoolingLoss::scores_differ;
  }
  return std::nullopt;
}

std::optional<WeightPoolingLoss> weight_pooling_loss(const RationalMatrices& key_weights,
                                                     const RationalMatrices& value_weights,
                                                     const RationalMatrices& query_weights) {
  return weight_pooling_loss({key_weights, value_weights, query_weights, {}, {}, {}, {}});
}

}  // namespace gqa
