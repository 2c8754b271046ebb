// Recordings of a plain loop in binary64 with undeclared rules, for the search that must find them.
// Nothing of the library's attention is asked.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "gqa/attention/encoded_tensor.hpp"
#include "gqa/attention/problem_tensors.hpp"
#include "support/random.hpp"

namespace gqa::test {

struct PlantedSizes {
  std::int64_t batch = 1, q_heads = 4, kv_heads = 2, queries = 12, keys = 24, width = 8;
};

/// What the loop does; as made, plain attention.
struct PlantedRules {
  std::string layout = "BHSD";  ///< of query, key and value
  std::string output_layout = "BHSD";
  bool interleaved = false;
  bool causal = false;
  bool top_left = false;
  std::int64_t left = -1, right = -1;
  double scale = 0;  ///< 0: 1/sqrt(width)
  double softcap = 0;
  bool sink_of_zero = false;
  bool alibi = false;
  std::vector<std::int64_t> lengths;  ///< empty: all keys

  std::string describe() const {
    std::string text = layout;
    if (output_layout != layout) text += " output " + output_layout;
    if (interleaved) text += " interleaved";
    if (causal) text += " causal";
    if (causal || left >= 0 || right >= 0 || alibi) text += top_left ? " top_left" : "";
    if (left >= 0 || right >= 0) text += fmt::format(" window {},{}", left, right);
    if (scale > 0) text += fmt::format(" scale {}", scale);
    if (softcap > 0) text += fmt::format(" softcap {}", softcap);
    if (sink_of_zero) text += " sink";
    if (alibi) text += " alibi";
    for (const std::int64_t length : lengths) text += fmt::format(" length {}", length);
    return text;
  }
};

/// Operands by [b, h, s, d], and outputs by [b, h, t, d], row-major.
struct PlantedOperands {
  PlantedSizes s;
  std::vector<double> query, key, value;

  PlantedOperands(const PlantedSizes& sizes, Random& random) : s(sizes) {
    const auto fill = [&random](std::vector<double>& numbers, std::int64_t count) {
      for (std::int64_t n = 0; n < count; ++n) {
        numbers.push_back(static_cast<double>(static_cast<float>(random.normal())));
      }
    };
    fill(query, s.batch * s.q_heads * s.queries * s.width);
    fill(key, s.batch * s.kv_heads * s.keys * s.width);
    fill(value, s.batch * s.kv_heads * s.keys * s.width);
  }
};

inline double planted_slope(std::int64_t head, std::int64_t heads) {
  // The heads of these tests are powers of two: 2^(-8 (h + 1) / Hq).
  return std::pow(2.0, -8.0 * static_cast<double>(head + 1) / static_cast<double>(heads));
}

inline std::vector<double> planted_output(const PlantedOperands& o, const PlantedRules& r) {
  const PlantedSizes& s = o.s;
  std::vector<double> output;
  for (std::int64_t b = 0; b < s.batch; ++b) {
    const std::int64_t length =
        r.lengths.empty() ? s.keys : r.lengths[static_cast<std::size_t>(b) % r.lengths.size()];
    for (std::int64_t h = 0; h < s.q_heads; ++h) {
      const std::int64_t g = r.interleaved ? h % s.kv_heads : h / (s.q_heads / s.kv_heads);
      for (std::int64_t i = 0; i < s.queries; ++i) {
        const std::int64_t p = i + (r.top_left ? 0 : length - s.queries);
        std::vector<double> sums(static_cast<std::size_t>(s.width), 0.0);
        double total = r.sink_of_zero ? 1 : 0;
        bool any = false;
        for (std::int64_t j = 0; j < length; ++j) {
          if (r.causal && j > p) continue;
          if (r.left >= 0 && j < p - r.left) continue;
          if (r.right >= 0 && j > p + r.right) continue;
          double x = 0;
          for (std::int64_t d = 0; d < s.width; ++d) {
            x += o.query[static_cast<std::size_t>(((b * s.q_heads + h) * s.queries + i) * s.width +
                                                  d)] *
                 o.key[static_cast<std::size_t>(((b * s.kv_heads + g) * s.keys + j) * s.width + d)];
          }
          x *= r.scale > 0 ? r.scale : 1 / std::sqrt(static_cast<double>(s.width));
          if (r.softcap > 0) x = r.softcap * std::tanh(x / r.softcap);
          if (r.alibi) {
            x -= planted_slope(h, s.q_heads) * std::abs(static_cast<double>(p - j));
          }
          const double w = std::exp(x);  // scores of these tests stay below 100
          total += w;
          any = true;
          for (std::int64_t d = 0; d < s.width; ++d) {
            sums[static_cast<std::size_t>(d)] +=
                w * o.value[static_cast<std::size_t>(((b * s.kv_heads + g) * s.keys + j) * s.width +
                                                     d)];
          }
        }
        for (const double sum : sums) output.push_back(any ? sum / total : 0);
      }
    }
  }
  return output;
}

/// [b, h, s, d] numbers laid out as the letters say; BSH folds the heads.
inline std::shared_ptr<const TypedTensor> planted_tensor(const std::vector<double>& numbers,
                                                         const PlantedSizes& s, std::int64_t heads,
                                                         std::int64_t rows,
                                                         const std::string& layout) {
  std::vector<double> laid(numbers.size());
  std::size_t next = 0;
  for (std::int64_t b = 0; b < s.batch; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t d = 0; d < s.width; ++d) {
          std::int64_t at = ((b * heads + h) * rows + i) * s.width + d;
          if (layout == "BSHD" || layout == "BSH") at = ((b * rows + i) * heads + h) * s.width + d;
          if (layout == "SBHD") at = ((i * s.batch + b) * heads + h) * s.width + d;
          laid[static_cast<std::size_t>(at)] =
              static_cast<double>(static_cast<float>(numbers[next++]));
        }
      }
    }
  }
  Shape shape{s.batch, heads, rows, s.width};
  if (layout == "BSHD") shape = {s.batch, rows, heads, s.width};
  if (layout == "SBHD") shape = {rows, s.batch, heads, s.width};
  if (layout == "BSH") shape = {s.batch, rows, heads * s.width};
  return encoded_tensor(ElementType::binary32, shape, laid);
}

inline ProblemTensors planted_recording(const PlantedOperands& o, const PlantedRules& r) {
  ProblemTensors tensors;
  tensors.query = planted_tensor(o.query, o.s, o.s.q_heads, o.s.queries, r.layout);
  tensors.key = planted_tensor(o.key, o.s, o.s.kv_heads, o.s.keys, r.layout);
  tensors.value = planted_tensor(o.value, o.s, o.s.kv_heads, o.s.keys, r.layout);
  tensors.output =
      planted_tensor(planted_output(o, r), o.s, o.s.q_heads, o.s.queries, r.output_layout);
  return tensors;
}

}  // namespace gqa::test
