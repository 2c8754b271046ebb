// Parts of a softmax put together: online softmax and split-KV merging, in any exact field.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "gqa/attention/tensor.hpp"

namespace gqa {

/// What attention over some of the keys gives: the output and the sum of strengths, whose
/// natural logarithm is the part's LSE.
template <class T>
struct PartialAttention {
  std::vector<T> output;  ///< [dv]
  T total = T(0);         ///< exp(LSE); zero: no key
};

/// Attention over the keys [begin, end) in one pass.
/// Precondition: strengths are positive, one per row of `values` [S, dv].
template <class T>
PartialAttention<T> attend_part(std::span<const T> strengths, MatrixView<const T> values,
                                std::size_t begin, std::size_t end) {
  PartialAttention<T> part{std::vector<T>(values.columns(), T(0)), T(0)};
  for (std::size_t j = begin; j < end; ++j) {
    part.total += strengths[j];
    for (std::size_t c = 0; c < values.columns(); ++c) {
      part.output[c] += T(strengths[j] * values(j, c));
    }
  }
  if (begin == end) return part;
  for (T& x : part.output) x = T(x / part.total);
  return part;
}

/// Two parts as one: outputs weighted by exp(LSE - LSE of both).
template <class T>
PartialAttention<T> merge(const PartialAttention<T>& a, const PartialAttention<T>& b) {
  PartialAttention<T> both{a.output, T(a.total + b.total)};
  if (both.total == T(0)) return both;
  const T weight_a(a.total / both.total), weight_b(b.total / both.total);
  for (std::size_t c = 0; c < both.output.size(); ++c) {
    both.output[c] = T(weight_a * a.output[c]) + T(weight_b * b.output[c]);
  }
  return both;
}

/// Online softmax in tiles of keys: the accumulator and the denominator are kept relative to the
/// largest strength seen (its logarithm is the running maximum of the scores) and rescaled
/// whenever a tile raises it. A strength of zero is a masked key: while there are no others the
/// running maximum is minus infinity, and nothing is rescaled. Zero if every strength is.
/// Precondition: strengths are not negative, one per row of `values` [S, dv]; tile_size > 0.
/// Source: Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018).
template <class T>
std::vector<T> online_softmax(std::span<const T> strengths, MatrixView<const T> values,
                              std::size_t tile_size) {
  std::vector<T> accumulator(values.columns(), T(0));
  T denominator(0), largest(0);
  for (std::size_t begin = 0; begin < strengths.size(); begin += tile_size) {
    const std::size_t end = std::min(begin + tile_size, strengths.size());
    const T before = largest;
    for (std::size_t j = begin; j < end; ++j) largest = std::max(largest, strengths[j]);
    if (largest == T(0)) continue;
    const T rescale(before / largest);
    denominator = T(denominator * rescale);
    for (T& x : accumulator) x = T(x * rescale);
    for (std::size_t j = begin; j < end; ++j) {
      const T numerator(strengths[j] / largest);
      denominator += numerator;
      for (std::size_t c = 0; c < values.columns(); ++c) {
        accumulator[c] += T(numerator * values(j, c));
      }
    }
  }
  if (denominator == T(0)) return accumulator;
  for (T& x : accumulator) x = T(x / denominator);
  return accumulator;
}

}  // namespace gqa
