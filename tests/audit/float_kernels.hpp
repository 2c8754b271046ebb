// Attention written naively in binary32, healthy or with one fault, and its audit.
#pragma once

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "gqa/attention/attention_problem.hpp"
#include "gqa/audit/audit.hpp"
#include "support/random.hpp"
#include "support/typed.hpp"

namespace gqa::test {

/// Operands of one batch entry in BHSD order, S keys, causal from the bottom right or not.
struct FloatOperands {
  std::int64_t q_heads = 1, kv_heads = 1, queries = 1, keys = 1, key_size = 1, value_size = 1;
  bool causal = false;
  std::vector<float> query, key, value, sink;
};

/// What a kernel does wrong, one thing at a time.
struct FloatFault {
  bool interleaved = false;
  bool no_scale = false;
  bool drop_sink = false;
  std::optional<std::int64_t> missing_key;
};

enum class Order { sequential, blocked };

/// Running state of one row: maximum, denominator, numerators.
struct RowState {
  float largest = -std::numeric_limits<float>::infinity();
  float total = 0;
  std::vector<float> sums;
};

class FloatKernel {
 public:
  FloatKernel(const FloatOperands& operands, Order order, FloatFault fault = {})
      : o_(operands), order_(order), fault_(fault) {}

  std::vector<float> run() const {
    std::vector<float> output;
    for (std::int64_t h = 0; h < o_.q_heads; ++h) {
      for (std::int64_t i = 0; i < o_.queries; ++i) {
        const std::vector<float> row = attend(h, i);
        output.insert(output.end(), row.begin(), row.end());
      }
    }
    return output;
  }

 private:
  std::int64_t kv_head(std::int64_t h) const {
    return fault_.interleaved ? h % o_.kv_heads : h / (o_.q_heads / o_.kv_heads);
  }
  static std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

  std::vector<std::int64_t> keys_of(std::int64_t i) const {
    std::vector<std::int64_t> keys;
    for (std::int64_t j = 0; j < o_.keys; ++j) {
      if (o_.causal && j > i + o_.keys - o_.queries) continue;
      if (fault_.missing_key == j) continue;
      keys.push_back(j);
    }
    return keys;
  }

  float score(std::int64_t h, std::int64_t i, std::int64_t j) const {
    float sum = 0;
    for (std::int64_t t = 0; t < o_.key_size; ++t) {
      sum += o_.query[at((h * o_.queries + i) * o_.key_size + t)] *
             o_.key[at((kv_head(h) * o_.keys + j) * o_.key_size + t)];
    }
    return fault_.no_scale ? sum : sum * (1.0F / std::sqrt(static_cast<float>(o_.key_size)));
  }

  // One tile of an online softmax: rescale what there is, then add the tile's keys.
  void add_tile(std::int64_t h, std::int64_t i, const std::vector<std::int64_t>& keys,
                RowState& state) const {
    std::vector<float> scores;
    float largest = state.largest;
    for (const std::int64_t j : keys) {
      scores.push_back(score(h, i, j));
      largest = std::max(largest, scores.back());
    }
    const float rescale = state.total == 0 ? 0.0F : std::exp(state.largest - largest);
    state.total *= rescale;
    for (float& sum : state.sums) sum *= rescale;
    for (std::size_t k = 0; k < keys.size(); ++k) {
      const float weight = std::exp(scores[k] - largest);
      state.total += weight;
      for (std::size_t c = 0; c < state.sums.size(); ++c) {
        state.sums[c] +=
            weight * o_.value[at((kv_head(h) * o_.keys + keys[k]) * o_.value_size) + c];
      }
    }
    state.largest = largest;
  }

  std::vector<float> attend(std::int64_t h, std::int64_t i) const {
    RowState state;
    state.sums.assign(at(o_.value_size), 0.0F);
    if (!o_.sink.empty() && !fault_.drop_sink) {
      state.largest = o_.sink[at(h)];
      state.total = 1;
    }
    const std::vector<std::int64_t> keys = keys_of(i);
    const std::size_t tile = order_ == Order::blocked ? 32 : std::max<std::size_t>(keys.size(), 1);
    for (std::size_t begin = 0; begin < keys.size(); begin += tile) {
      const auto first = keys.begin() + static_cast<std::ptrdiff_t>(begin);
      const auto count = std::min(tile, keys.size() - begin);
      add_tile(h, i, {first, first + static_cast<std::ptrdiff_t>(count)}, state);
    }
    for (float& sum : state.sums) sum = state.total == 0 ? 0.0F : sum / state.total;
    return state.sums;
  }

  const FloatOperands& o_;
  Order order_;
  FloatFault fault_;
};

/// Operands with elements made by `make` and everything else as given.
template <class Make>
FloatOperands fill(FloatOperands operands, Make make) {
  const auto fill_with = [&make](std::vector<float>& to, std::int64_t count) {
    to.resize(static_cast<std::size_t>(count));
    for (float& x : to) x = static_cast<float>(make());
  };
  fill_with(operands.query, operands.q_heads * operands.queries * operands.key_size);
  fill_with(operands.key, operands.kv_heads * operands.keys * operands.key_size);
  fill_with(operands.value, operands.kv_heads * operands.keys * operands.value_size);
  return operands;
}

inline AttentionProblem to_problem(const FloatOperands& o, const std::vector<float>& output) {
  ProblemTensors tensors;
  tensors.query = tensor_of({1, o.q_heads, o.queries, o.key_size}, o.query);
  tensors.key = tensor_of({1, o.kv_heads, o.keys, o.key_size}, o.key);
  tensors.value = tensor_of({1, o.kv_heads, o.keys, o.value_size}, o.value);
  tensors.output = tensor_of({1, o.q_heads, o.queries, o.value_size}, output);
  if (!o.sink.empty()) tensors.sink = tensor_of({o.q_heads}, o.sink);
  Contract contract;
  contract.causal = o.causal;
  return make_problem(tensors, contract);
}

inline AuditResult audit_f32(const FloatOperands& o, const std::vector<float>& output) {
  AuditOptions options;
  options.tolerance = ModelTolerance{&f32_model, false};
  return audit(to_problem(o, output), options);
}

}  // namespace gqa::test
