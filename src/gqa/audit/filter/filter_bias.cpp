#include "gqa/audit/filter/filter_bias.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace gqa {
namespace {

// One row of a tensor that is broadcast to [B, Hq, T, keys].
template <class T>
struct BroadcastRow {
  const T* data;        // of key 0
  std::int64_t extent;  // of the last axis
  BroadcastRow(const Tensor<T>& tensor, const BiasRow& at)
      : data(nullptr), extent(tensor.shape().empty() ? 1 : tensor.shape().back()) {
    const auto first = broadcast_index(tensor.shape(), at.batch, at.head, at.row, 0);
    if (first) data = tensor.data().data() + *first;
  }
  // nullptr where a short last axis has ended.
  const T* at(std::int64_t key) const {
    if (extent == 1) return data;
    return key < extent ? data + key : nullptr;
  }
};

void apply_mask(const Tensor<char>& mask, const BiasRow& at, std::int64_t begin, std::int64_t end,
                double* to) {
  const BroadcastRow<char> row(mask, at);
  for (std::int64_t j = begin; j < end; ++j) {
    const char* allowed = row.at(j);
    if (allowed == nullptr || *allowed == 0) to[j - begin] = hidden_score;
  }
}

void add_mask_bias(const Tensor<double>& bias, const BiasRow& at, std::int64_t begin,
                   std::int64_t end, double* to) {
  const BroadcastRow<double> row(bias, at);
  for (std::int64_t j = begin; j < end; ++j) {
    const double* value = row.at(j);
    // The mask that came with the bias hides what lies beyond its end.
    to[j - begin] = value == nullptr ? 0.0 : *value;
  }
}

void add_slope(const AttentionProblem& problem, const BiasRow& at, std::int64_t begin,
               std::int64_t end, double* to) {
  const double slope = (*problem.alibi_slopes)[static_cast<std::size_t>(
      at.batch * problem.dimensions.q_heads + at.head)];
  const std::int64_t position = problem.visibility.position(at.batch, at.row);
  for (std::int64_t j = begin; j < end; ++j) {
    const auto distance = static_cast<double>(std::abs(position - j));
    to[j - begin] = std::fma(-slope, distance, to[j - begin]);
  }
}

}  // namespace

void fill_bias_magnitudes(const AttentionProblem& problem, const BiasRow& at, std::int64_t begin,
                          std::int64_t end, double* to) {
  add_mask_bias(*problem.bias, at, begin, end, to);
  const double slope = std::abs((*problem.alibi_slopes)[static_cast<std::size_t>(
      at.batch * problem.dimensions.q_heads + at.head)]);
  const std::int64_t position = problem.visibility.position(at.batch, at.row);
  for (std::int64_t j = begin; j < end; ++j) {
    const auto distance = static_cast<double>(std::abs(position - j));
    to[j - begin] = (std::abs(to[j - begin]) + slope * distance) * (1 + 0x1p-50);
  }
}

BiasResult fill_bias(const AttentionProblem& problem, const BiasRow& at, std::int64_t begin,
                     std::int64_t end, double* to) {
  const std::int64_t count = end - begin;
  std::fill_n(to, count, 0.0);
  if (problem.bias) add_mask_bias(*problem.bias, at, begin, end, to);
  if (problem.alibi_slopes) add_slope(problem, at, begin, end, to);
  // Whatever is not finite must not pass for a hidden key.
  for (std::int64_t j = 0; j < count; ++j) {
    if (!std::isfinite(to[j])) to[j] = std::numeric_limits<double>::quiet_NaN();
  }
  if (const auto* mask = problem.visibility.mask()) apply_mask(*mask, at, begin, end, to);
  BiasResult result;
  for (std::int64_t j = 0; j < count; ++j) {
    if (to[j] == hidden_score) continue;
    ++result.visible;
    if (std::isnan(to[j])) {
      result.finite = false;
      to[j] = 0.0;
    }
  }
  return result;
}

}  // namespace gqa
