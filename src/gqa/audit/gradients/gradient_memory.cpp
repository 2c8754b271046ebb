// The sums and buffers of rung 1 of the gradients.
#include <algorithm>

#include "gqa/audit/gradients/gradient_tile.hpp"
#include "gqa/num/arithmetic.hpp"

namespace gqa {

GradientKeyTotals::GradientKeyTotals(const FilterShape& shape, std::int64_t keys,
                                     bool with_variances)
    : key(extent(keys) * shape.key_stride), value(extent(keys) * shape.value_stride) {
  const std::size_t count = extent(keys) + shape.keys;
  key_spread.assign(count, 0.0);
  value_spread.assign(count, 0.0);
  if (!with_variances) return;
  key_variances.assign(key.size(), 0.0);
  value_variances.assign(value.size(), 0.0);
}

void GradientKeyTotals::add(const GradientKeyTotals& other) {
  const auto add = [](std::vector<double>& to, const std::vector<double>& from) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
  };
  add(key, other.key);
  add(value, other.value);
  add(key_spread, other.key_spread);
  add(value_spread, other.value_spread);
  add(key_variances, other.key_variances);
  add(value_variances, other.value_variances);
}

GradientMemory::GradientMemory(const FilterShape& shape, bool with_variances)
    : filter(shape, false),
      grad(shape.rows * shape.value_stride),
      derivatives(shape.rows * shape.keys),
      slope(shape.keys),
      key_products(shape.keys * shape.key_stride),
      value_products(shape.keys * shape.value_stride),
      query_products(shape.rows * shape.key_stride) {
  if (!with_variances) return;
  means.resize(query_products.size());
  for (auto* factors : {&weights, &query_factors, &key_factors, &value_factors}) {
    factors->resize(derivatives.size());
  }
  key_values.resize(key_products.size());
  key_squares.resize(key_products.size());
  query_squares.resize(query_products.size());
  grad_squares.resize(grad.size());
  products.resize(std::max(shape.rows, shape.keys) *
                  std::max(shape.key_stride, shape.value_stride));
}

}  // namespace gqa
