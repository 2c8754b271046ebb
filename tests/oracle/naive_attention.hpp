// A second implementation of attention, straight from the definition, for tests only.
//
// Written from the six steps of docs/contract.md, "Definition", with nested vectors and one loop
// per index. It shares nothing with the library: no header, no number type of its own, no way of
// finding the visible keys (each rule is asked about each key), no shift before exp.
#pragma once

#include <array>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

namespace oracle {

using Exact = boost::multiprecision::cpp_rational;

template <class T>
using Array2 = std::vector<std::vector<T>>;
template <class T>
using Array3 = std::vector<Array2<T>>;
template <class T>
using Array4 = std::vector<Array3<T>>;

template <class T>
Array4<T> array4(int a, int b, int c, int d, const T& fill) {
  const auto n = [](int extent) { return static_cast<std::size_t>(extent); };
  return Array4<T>(n(a), Array3<T>(n(b), Array2<T>(n(c), std::vector<T>(n(d), fill))));
}

enum class Alignment { top_left, bottom_right, onnx };

/// Sizes and visibility. `mask` is full-sized [B, Hq, T, S] or empty; `lengths` empty: none.
struct Rules {
  int batch = 1, q_heads = 1, kv_heads = 1, queries = 1, keys = 1, key_size = 1, value_size = 1;
  int past = 0;  ///< of the keys
  std::vector<int> kv_head_of;
  bool causal = false;
  Alignment alignment = Alignment::bottom_right;
  int left = -1;
  int right = -1;
  std::vector<int> lengths;
  Array4<char> mask;
};

inline int position(const Rules& r, std::size_t b, int i) {
  const int length = r.lengths.empty() ? r.keys : r.lengths[b];
  if (r.alignment == Alignment::bottom_right) return i + length - r.queries;
  if (r.alignment == Alignment::top_left) return i;
  if (r.past > 0) return i + r.past;
  return r.lengths.empty() ? i : i + length - r.queries;
}

/// Does every rule allow query row i of head h to see key j?
inline bool sees(const Rules& r, std::size_t b, std::size_t h, std::size_t i, std::size_t j) {
  const int p = position(r, b, static_cast<int>(i));
  const int key = static_cast<int>(j);
  if (!r.lengths.empty() && key >= r.lengths[b]) return false;
  if (r.causal && key > p) return false;
  if (r.left != -1 && key < p - r.left) return false;
  if (r.right != -1 && key > p + r.right) return false;
  return r.mask.empty() || r.mask[b][h][i][j] != 0;
}

template <class N>
struct Result {
  Array4<N> output;   ///< [B, Hq, T, dv]
  Array4<N> weights;  ///< [B, Hq, T, S]
  Array3<char> empty;
};

/// Steps 4 to 6: `strength(b, h, i, j)` is exp of the score, `sink(h)` that of the sink or 0.
template <class N, class Strength, class Sink>
Result<N> average(const Rules& r, const Array4<N>& value, Strength strength, Sink sink) {
  Result<N> result;
  result.output = array4<N>(r.batch, r.q_heads, r.queries, r.value_size, N(0));
  result.weights = array4<N>(r.batch, r.q_heads, r.queries, r.keys, N(0));
  result.empty.resize(result.output.size());
  for (std::size_t b = 0; b < result.output.size(); ++b) {
    result.empty[b].resize(result.output[b].size());
    for (std::size_t h = 0; h < result.output[b].size(); ++h) {
      const Array2<N>& history = value[b][static_cast<std::size_t>(r.kv_head_of[h])];
      for (std::size_t i = 0; i < result.output[b][h].size(); ++i) {
        N denominator = sink(h);
        bool empty = true;
        for (std::size_t j = 0; j < history.size(); ++j) {
          if (!sees(r, b, h, i, j)) continue;
          empty = false;
          denominator += strength(b, h, i, j);
        }
        result.empty[b][h].push_back(empty ? 1 : 0);
        if (empty) continue;
        for (std::size_t j = 0; j < history.size(); ++j) {
          if (!sees(r, b, h, i, j)) continue;
          const N weight = strength(b, h, i, j) / denominator;
          result.weights[b][h][i][j] = weight;
          for (std::size_t c = 0; c < history[j].size(); ++c) {
            result.output[b][h][i][c] += weight * history[j][c];
          }
        }
      }
    }
  }
  return result;
}

/// a ln 2 + b ln 3 + c ln 5.
using Logarithm = std::array<int, 3>;

/// A problem whose strengths are rational: integer keys, logarithmic queries already
/// scaled, or stipulated strengths. Empty members are absent.
struct ExactProblem {
  Rules rules;
  Array4<Logarithm> query;  ///< [B, Hq, T, dk]
  Array4<int> key;          ///< [B, Hkv, S, dk]
  Array4<Exact> value;      ///< [B, Hkv, S, dv]
  Array4<Exact> strengths;  ///< [B, Hq, T, S]: instead of query and key
  Array4<Logarithm> bias;   ///< [B, Hq, T, S]
  Array3<Logarithm> shift;  ///< [B, Hq, T]
  std::vector<Logarithm> sink;
};

inline Exact integer_power(int base, int exponent) {
  Exact result = 1;
  for (int n = 0; n < (exponent < 0 ? -exponent : exponent); ++n) result *= base;
  return exponent < 0 ? Exact(1 / result) : result;
}

inline Exact exponential(const Logarithm& x) {
  return integer_power(2, x[0]) * integer_power(3, x[1]) * integer_power(5, x[2]);
}

inline Result<Exact> attend(const ExactProblem& p) {
  const auto strength = [&p](std::size_t b, std::size_t h, std::size_t i, std::size_t j) -> Exact {
    Exact result = 1;
    if (p.strengths.empty()) {
      const auto& key = p.key[b][static_cast<std::size_t>(p.rules.kv_head_of[h])][j];
      Logarithm score{0, 0, 0};
      for (std::size_t t = 0; t < key.size(); ++t) {
        for (std::size_t prime = 0; prime < 3; ++prime) {
          score[prime] += p.query[b][h][i][t][prime] * key[t];
        }
      }
      result = exponential(score);
    } else {
      result = p.strengths[b][h][i][j];
    }
    if (!p.bias.empty()) result *= exponential(p.bias[b][h][i][j]);
    if (!p.shift.empty()) result *= exponential(p.shift[b][h][i]);
    return result;
  };
  const auto sink = [&p](std::size_t h) {
    return p.sink.empty() ? Exact(0) : exponential(p.sink[h]);
  };
  return average<Exact>(p.rules, p.value, strength, sink);
}

/// A problem in long doubles: score = softcap(scale q.k) + bias. Softcap 0: off.
struct RealProblem {
  Rules rules;
  Array4<long double> query, key, value;
  Array4<long double> bias;  ///< [B, Hq, T, S] or empty
  std::vector<long double> sink;
  long double scale = 1;
  long double softcap = 0;
};

/// Without a shift: scores must stay below exp's overflow, 11000.
inline Result<long double> attend(const RealProblem& p) {
  const auto strength = [&p](std::size_t b, std::size_t h, std::size_t i, std::size_t j) {
    const auto& key = p.key[b][static_cast<std::size_t>(p.rules.kv_head_of[h])][j];
    long double score = 0;
    for (std::size_t t = 0; t < key.size(); ++t) score += p.query[b][h][i][t] * key[t];
    score *= p.scale;
    if (p.softcap != 0) score = p.softcap * std::tanh(score / p.softcap);
    if (!p.bias.empty()) score += p.bias[b][h][i][j];
    return std::exp(score);
  };
  const auto sink = [&p](std::size_t h) { return p.sink.empty() ? 0.0L : std::exp(p.sink[h]); };
  return average<long double>(p.rules, p.value, strength, sink);
}

}  // namespace oracle
