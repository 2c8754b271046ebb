// The kernel that attention_test.cpp tests: causal attention of one batch entry in float.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

struct Sizes {
  int q_heads, kv_heads, queries, keys, width;
};

struct Operands {
  std::vector<float> query, key, value;
};

using KvHead = std::function<int(int query_head)>;

inline Operands operands(const Sizes& s) {
  std::mt19937 random(1);
  const auto filled = [&random](int size) {
    std::vector<float> values(static_cast<std::size_t>(size));
    for (float& value : values) value = static_cast<float>(random() % 2001) / 500.0F - 2.0F;
    return values;
  };
  return {filled(s.q_heads * s.queries * s.width), filled(s.kv_heads * s.keys * s.width),
          filled(s.kv_heads * s.keys * s.width)};
}

inline std::vector<float> attention(const Sizes& s, const Operands& o, const KvHead& kv_head_of) {
  std::vector<float> output;
  for (int h = 0; h < s.q_heads; ++h) {
    for (int i = 0; i < s.queries; ++i) {
      const float* query = o.query.data() + (h * s.queries + i) * s.width;
      const float* keys = o.key.data() + kv_head_of(h) * s.keys * s.width;
      const float* values = o.value.data() + kv_head_of(h) * s.keys * s.width;
      const int visible = i + s.keys - s.queries + 1;
      std::vector<double> scores;
      for (int j = 0; j < visible; ++j) {
        double dot = 0;
        for (int d = 0; d < s.width; ++d) dot += double{query[d]} * double{keys[j * s.width + d]};
        scores.push_back(dot / std::sqrt(s.width));
      }
      const double largest = *std::max_element(scores.begin(), scores.end());
      double total = 0;
      for (double& score : scores) total += score = std::exp(score - largest);
      for (int c = 0; c < s.width; ++c) {
        double sum = 0;
        for (int j = 0; j < visible; ++j) {
          sum += scores[static_cast<std::size_t>(j)] * double{values[j * s.width + c]};
        }
        output.push_back(static_cast<float>(sum / total));
      }
    }
  }
  return output;
}
