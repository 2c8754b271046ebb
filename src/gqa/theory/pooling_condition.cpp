#include "gqa/theory/pooling_condition.hpp"

#include <fmt/format.h>

#include <map>

#include "gqa/error.hpp"
#include "gqa/theory/certificate_writer.hpp"

namespace gqa {
namespace {

using nlohmann::ordered_json;

// By key sum: what the sum of the value differences is.
using Differences = std::map<RationalVector, RationalVector>;

void require_shape(const RationalMatrices& all, std::size_t heads, std::size_t positions,
                   const char* where) {
  bool fits = !all.empty() && all.size() == heads && positions > 0;
  for (const RationalMatrix& one : all) {
    fits = fits && one.size() == positions;
    for (const RationalVector& row : one) {
      fits = fits && !row.empty() && row.size() == all[0][0].size();
    }
  }
  if (!fits) {
    throw InputError("pooling.shape", where,
                     fmt::format("is not [{} heads, {} positions, at least 1]", heads, positions));
  }
}

void require_shapes(const PooledGroup& group) {
  const std::size_t positions = group.keys.empty() ? 0 : group.keys[0].size();
  require_shape(group.keys, group.keys.size(), positions, "keys");
  require_shape(group.values, group.keys.size(), positions, "values");
}

void add(RationalVector& to, const RationalVector& what) {
  for (std::size_t c = 0; c < to.size(); ++c) to[c] += what[c];
}

// Adds the pair of the head's position j and the mean history's position l.
void add_pair(Differences& sums, const PooledGroup& group, std::size_t head, std::size_t j,
              const RationalVector& mean_key, const RationalVector& mean_value) {
  RationalVector key_sum = group.keys[head][j];
  add(key_sum, mean_key);
  RationalVector& sum = sums[std::move(key_sum)];
  sum.resize(mean_value.size());
  for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += group.values[head][j][c] - mean_value[c];
}

std::optional<PoolingLoss> first_loss(const Differences& sums, std::size_t head,
                                      std::size_t positions) {
  for (const auto& [key_sum, difference] : sums) {
    for (const Rational& x : difference) {
      if (x != 0) return PoolingLoss{head, positions, key_sum, difference};
    }
  }
  return std::nullopt;
}

// One head; the pairs of a prefix are those of the prefix before and those of its new position.
std::optional<PoolingLoss> loss_of_head(const PooledGroup& group, std::size_t head,
                                        const RationalMatrix& mean_keys,
                                        const RationalMatrix& mean_values,
                                        PooledPositions positions) {
  Differences sums;
  for (std::size_t n = 0; n < group.positions(); ++n) {
    for (std::size_t l = 0; l <= n; ++l) {
      add_pair(sums, group, head, n, mean_keys[l], mean_values[l]);
      if (l < n) add_pair(sums, group, head, l, mean_keys[n], mean_values[n]);
    }
    if (positions == PooledPositions::all && n + 1 < group.positions()) continue;
    if (auto loss = first_loss(sums, head, n + 1)) return loss;
  }
  return std::nullopt;
}

RationalMatrices first_positions(RationalMatrices all, std::size_t count) {
  for (RationalMatrix& one : all) one.resize(count);
  return all;
}

PooledGroup zeros(std::int64_t q_heads, std::int64_t kv_heads, std::size_t positions) {
  if (kv_heads <= 0 || q_heads <= 0 || q_heads % kv_heads != 0) {
    throw InputError("pooling.heads_not_divisible", "kv_num_heads",
                     fmt::format("{} heads cannot be pooled evenly into {}", q_heads, kv_heads));
  }
  const RationalMatrix history(positions, RationalVector(1));
  const RationalMatrices all(static_cast<std::size_t>(q_heads / kv_heads), history);
  return {all, all};
}

}  // namespace

RationalMatrix mean_of(const RationalMatrices& all) {
  RationalMatrix sum = all[0];
  for (std::size_t h = 1; h < all.size(); ++h) {
    for (std::size_t r = 0; r < sum.size(); ++r) add(sum[r], all[h][r]);
  }
  for (RationalVector& row : sum) {
    for (Rational& x : row) x /= static_cast<unsigned long>(all.size());
  }
  return sum;
}

std::optional<PoolingLoss> pooling_loss(const PooledGroup& group, PooledPositions positions) {
  require_shapes(group);
  const RationalMatrix mean_keys = mean_of(group.keys);
  const RationalMatrix mean_values = mean_of(group.values);
  for (std::size_t head = 0; head < group.heads(); ++head) {
    if (auto loss = loss_of_head(group, head, mean_keys, mean_values, positions)) return loss;
  }
  return std::nullopt;
}

ordered_json certificate_of(const std::optional<PoolingLoss>& loss, const PooledGroup& group,
                            PooledPositions positions) {
  ordered_json json = new_certificate(loss ? "pooling_loss" : "pooling_lossless");
  const std::size_t count = loss ? loss->positions : group.positions();
  json["keys"] = exact_json(first_positions(group.keys, count));
  json["values"] = exact_json(first_positions(group.values, count));
  if (!loss) {
    json["causal"] = positions == PooledPositions::every_prefix;
    return json;
  }
  json["head"] = loss->head;
  json["key_sum"] = exact_json(loss->key_sum);
  json["difference"] = exact_json(loss->difference);
  return json;
}

RationalMatrix pooling_loss_at_equal_scores(const PooledGroup& group) {
  require_shapes(group);
  const RationalMatrix means = mean_of(group.values);
  RationalMatrix losses;
  for (const RationalMatrix& values : group.values) {
    RationalVector loss(means[0].size());
    for (std::size_t j = 0; j < values.size(); ++j) {
      for (std::size_t c = 0; c < loss.size(); ++c) loss[c] += values[j][c] - means[j][c];
    }
    for (Rational& x : loss) x /= static_cast<unsigned long>(values.size());
    losses.push_back(std::move(loss));
  }
  return losses;
}

std::optional<PooledGroup> smallest_pooling_loss(std::int64_t q_heads, std::int64_t kv_heads) {
  PooledGroup group = zeros(q_heads, kv_heads, 1);
  if (q_heads == kv_heads) return std::nullopt;
  group.values[0][0][0] = 1;
  return group;
}

std::optional<PooledGroup> smallest_key_pooling_loss(std::int64_t q_heads, std::int64_t kv_heads) {
  PooledGroup group = zeros(q_heads, kv_heads, 2);
  if (q_heads == kv_heads) return std::nullopt;
  for (RationalMatrix& values : group.values) values[1][0] = 1;
  group.keys[0][0][0] = 1;
  return group;
}

}  // namespace gqa
