// Weights from scores, by the softmax that a behaviour has.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "gqa/diagnose/evaluate/number.hpp"
#include "gqa/diagnose/evaluate/row_keys.hpp"

namespace gqa::evaluation {

template <class T>
struct Weights {
  std::vector<T> of_keys;
  std::optional<T> sink;
};

/// Scores of the keys that take part; the sink's logit beside them.
template <class T>
struct WeightInput {
  std::span<const std::size_t> keys;
  std::size_t begin = 0;  ///< what block boundaries count from
  std::span<const T> scores;
  std::span<const char> dropped;
  std::optional<T> sink;
};

template <class T>
T exponential(const T& score, const T& shift) {
  using std::exp;
  return exp(T(score - shift));
}

template <class T>
T largest_score(const WeightInput<T>& input) {
  std::optional<T> largest = input.sink;
  for (std::size_t k = 0; k < input.scores.size(); ++k) {
    if (input.dropped[k] != 0) continue;
    if (!largest || middle(*largest) < middle(input.scores[k])) largest = input.scores[k];
  }
  return largest.value_or(T(0));
}

/// exp(s) / (sum exp(s) + exp(sink)).
template <class T>
Weights<T> whole_weights(const WeightInput<T>& input) {
  const T shift = largest_score(input);
  Weights<T> weights;
  T total(0);
  for (std::size_t k = 0; k < input.scores.size(); ++k) {
    weights.of_keys.push_back(input.dropped[k] != 0 ? T(0) : exponential(input.scores[k], shift));
    total += weights.of_keys.back();
  }
  if (input.sink) {
    weights.sink = exponential(*input.sink, shift);
    total += *weights.sink;
  }
  for (T& weight : weights.of_keys) weight /= total;
  if (weights.sink) *weights.sink /= total;
  return weights;
}

/// Positions in `keys` of every block [b * size, (b + 1) * size) of key indices, in order.
inline std::vector<std::pair<std::size_t, std::size_t>> blocks_of(std::span<const std::size_t> keys,
                                                                  std::size_t start,
                                                                  std::int64_t size) {
  std::vector<std::pair<std::size_t, std::size_t>> blocks;
  const auto block = static_cast<std::size_t>(size);
  for (std::size_t k = 0; k < keys.size();) {
    std::size_t end = k + 1;
    while (end < keys.size() && (keys[end] - start) / block == (keys[k] - start) / block) ++end;
    blocks.emplace_back(k, end);
    k = end;
  }
  return blocks;
}

/// An online softmax whose sums over earlier blocks are not brought to the new maximum, or
/// are taken the wrong way: each weight keeps the scale of the moment it was added.
template <class T>
Weights<T> unrescaled_weights(const WeightInput<T>& input, std::int64_t block, bool inverted) {
  Weights<T> weights;
  weights.of_keys.assign(input.scores.size(), T(0));
  std::optional<T> maximum;
  for (const auto& [begin, end] : blocks_of(input.keys, input.begin, block)) {
    std::optional<T> next = maximum;
    for (std::size_t k = begin; k < end; ++k) {
      if (!next || middle(*next) < middle(input.scores[k])) next = input.scores[k];
    }
    if (inverted && maximum) {
      const T factor = exponential(*next, *maximum);
      for (std::size_t k = 0; k < begin; ++k) weights.of_keys[k] *= factor;
    }
    for (std::size_t k = begin; k < end; ++k) {
      weights.of_keys[k] = exponential(input.scores[k], *next);
    }
    maximum = next;
  }
  T total(0);
  for (const T& weight : weights.of_keys) total += weight;
  if (input.sink) {
    weights.sink = exponential(*input.sink, *maximum);
    total += *weights.sink;
  }
  for (T& weight : weights.of_keys) weight /= total;
  if (weights.sink) *weights.sink /= total;
  return weights;
}

/// An online softmax whose denominator follows the maximum while the sum of weighted values keeps
/// the scale of the moment: each weight is larger by what the maximum has grown since.
template <class T>
Weights<T> unrescaled_numerators(const WeightInput<T>& input, std::int64_t block) {
  Weights<T> weights = whole_weights(input);
  const T largest = largest_score(input);
  std::optional<T> maximum = input.sink;
  for (const auto& [begin, end] : blocks_of(input.keys, input.begin, block)) {
    for (std::size_t k = begin; k < end; ++k) {
      if (!maximum || middle(*maximum) < middle(input.scores[k])) maximum = input.scores[k];
    }
    const T factor = exponential(largest, *maximum);
    for (std::size_t k = begin; k < end; ++k) weights.of_keys[k] *= factor;
  }
  return weights;
}

/// Shards of keys, each with its own softmax, merged wrongly: by exp of the base-2
/// log-sum-exp, or by the plain mean. The sink is a key of the first shard.
template <class T>
Weights<T> merged_weights(const WeightInput<T>& input, std::int64_t shard, bool unweighted) {
  using std::log;
  Weights<T> weights;
  weights.of_keys.assign(input.scores.size(), T(0));
  std::vector<T> merge_scores;  // what the merge takes exp of
  const auto shards = blocks_of(input.keys, input.begin, shard);
  for (const auto& [begin, end] : shards) {
    WeightInput<T> part{input.keys.subspan(begin, end - begin), input.begin,
                        input.scores.subspan(begin, end - begin),
                        input.dropped.subspan(begin, end - begin),
                        begin == 0 ? input.sink : std::nullopt};
    const Weights<T> own = whole_weights(part);
    std::copy(own.of_keys.begin(), own.of_keys.end(),
              weights.of_keys.begin() + static_cast<std::ptrdiff_t>(begin));
    if (own.sink) weights.sink = own.sink;
    const T largest = largest_score(part);
    T sum(0);
    for (const T& score : part.scores) sum += exponential(score, largest);
    if (part.sink) sum += exponential(*part.sink, largest);
    merge_scores.push_back(T((largest + log(sum)) / log(T(2))));
  }
  std::vector<T> factors(shards.size(), T(T(1) / T(static_cast<double>(shards.size()))));
  if (!unweighted) {
    const std::vector<char> none(shards.size(), 0);
    factors = whole_weights(WeightInput<T>{{}, 0, merge_scores, none, std::nullopt}).of_keys;
  }
  for (std::size_t n = 0; n < shards.size(); ++n) {
    for (std::size_t k = shards[n].first; k < shards[n].second; ++k) {
      weights.of_keys[k] *= factors[n];
    }
  }
  if (weights.sink) *weights.sink *= factors.front();
  return weights;
}

}  // namespace gqa::evaluation
