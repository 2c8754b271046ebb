// Backward passes as kernels do them, fast enough to be run by the thousand: binary32 inside, with
// the roundings to 16 bits that flash and eager kernels make. Healthy ones, and some faults.
#pragma once

#include <cmath>
#include <vector>

#include "audit/rounded_gradients.hpp"

namespace gqa::test {

/// In which order a sum's terms are added.
enum class Summation { sequential, lanes, tiles };

/// What becomes of the parts of a group's query heads.
enum class HeadParts {
  together,     ///< one sum over all rows of the group
  stored,       ///< each rounded to the storage type, summed in binary32
  running_sum,  ///< the same, and every partial sum is rounded as well
};

struct BackwardKernel {
  ElementType storage = ElementType::bfloat16;
  bool eager = false;   ///< scores, weights, g.v and derivatives stored; delta = sum P dP
  bool online = false;  ///< the forward pass in tiles of 64 keys with base 2
  Summation sums = Summation::lanes;
  HeadParts parts = HeadParts::together;
  bool delta_dropped = false;  ///< a fault: delta is taken for zero
};

namespace backward_detail {

/// x[j] times rows of `width` numbers, summed over j.
inline std::vector<float> weighted_sum(Summation order, std::size_t count, std::size_t width,
                                       const auto& weight, const auto& row) {
  const std::size_t parts = order == Summation::sequential ? 1 : 8;
  std::vector<float> total(width);
  if (order == Summation::tiles) {
    for (std::size_t begin = 0; begin < count; begin += 64) {
      std::vector<float> tile(width);
      for (std::size_t j = begin; j < std::min(count, begin + 64); ++j) {
        const float w = weight(j);
        const float* x = row(j);
        for (std::size_t c = 0; c < width; ++c) tile[c] += w * x[c];
      }
      for (std::size_t c = 0; c < width; ++c) total[c] += tile[c];
    }
    return total;
  }
  for (std::size_t part = 0; part < parts; ++part) {
    std::vector<float> lane(width);
    for (std::size_t j = part; j < count; j += parts) {
      const float w = weight(j);
      const float* x = row(j);
      for (std::size_t c = 0; c < width; ++c) lane[c] += w * x[c];
    }
    for (std::size_t c = 0; c < width; ++c) total[c] += lane[c];
  }
  return total;
}

inline float dot(Summation order, const float* a, const float* b, std::size_t n) {
  const auto one = [&](std::size_t t) { return b + t; };
  return weighted_sum(
      order, n, 1, [&](std::size_t t) { return a[t]; }, one)[0];
}

inline std::vector<float> single(const std::vector<double>& x) {
  return {x.begin(), x.end()};
}

}  // namespace backward_detail

/// One history through one kernel.
class BackwardRun {
 public:
  BackwardRun(const BackwardOperands& o, const BackwardKernel& kernel)
      : o_(o),
        kernel_(kernel),
        format_(*float_format(kernel.storage)),
        query_(backward_detail::single(o.query)),
        key_(backward_detail::single(o.key)),
        value_(backward_detail::single(o.value)),
        grad_(backward_detail::single(o.grad)),
        scale_(static_cast<float>(1 / std::sqrt(static_cast<double>(o.key_size)))) {}

  BackwardResult run() {
    const std::size_t rows = at(o_.heads * o_.queries);
    BackwardResult result;
    for (std::size_t r = 0; r < rows; ++r) {
      add_row(r);
      const Row& row = rows_.back();
      const auto sum = backward_detail::weighted_sum(
          kernel_.sums, row.keys, at(o_.key_size),
          [&](std::size_t j) { return row.derivatives[j]; },
          [&](std::size_t j) { return key_.data() + j * at(o_.key_size); });
      for (const float x : sum) result.query.push_back(stored(x * late_scale()));
    }
    for (std::size_t j = 0; j < at(o_.keys); ++j) {
      append(result.key, key_sum(j, query_, at(o_.key_size), late_scale(), true));
      append(result.value, key_sum(j, grad_, at(o_.value_size), 1, false));
    }
    return result;
  }

 private:
  struct Row {
    std::size_t keys = 0;  // it sees the first ones
    std::vector<float> weights;
    std::vector<float> derivatives;
  };

  static std::size_t at(std::int64_t n) { return static_cast<std::size_t>(n); }
  float stored(float x) const { return static_cast<float>(rounded(format_, x)); }
  // The eager kernel scales derivatives.
  float late_scale() const { return kernel_.eager ? 1 : scale_; }
  static void append(std::vector<double>& to, const std::vector<float>& row) {
    to.insert(to.end(), row.begin(), row.end());
  }

  std::vector<float> key_sum(std::size_t j, const std::vector<float>& operand, std::size_t width,
                             float scale, bool derivatives) const {
    const std::size_t queries = at(o_.queries);
    const auto sum_of = [&](std::size_t begin, std::size_t end) {
      std::vector<std::size_t> rows;
      for (std::size_t r = begin; r < end; ++r) {
        if (rows_[r].keys > j) rows.push_back(r);
      }
      auto sum = backward_detail::weighted_sum(
          kernel_.sums, rows.size(), width,
          [&](std::size_t i) {
            const Row& row = rows_[rows[i]];
            return derivatives ? row.derivatives[j] : stored(row.weights[j]);
          },
          [&](std::size_t i) { return operand.data() + rows[i] * width; });
      for (float& x : sum) x = stored(x * scale);
      return sum;
    };
    if (kernel_.parts == HeadParts::together) return sum_of(0, rows_.size());
    std::vector<float> total(width);
    for (std::size_t h = 0; h < at(o_.heads); ++h) {
      const auto part = sum_of(h * queries, (h + 1) * queries);
      for (std::size_t c = 0; c < width; ++c) {
        total[c] += part[c];
        if (kernel_.parts == HeadParts::running_sum) total[c] = stored(total[c]);
      }
    }
    for (float& x : total) x = stored(x);
    return total;
  }

  void add_row(std::size_t r) {
    const std::size_t i = r % at(o_.queries);
    Row row;
    row.keys = at(o_.keys);
    if (o_.causal) row.keys = std::min(row.keys, i + 1 + at(o_.keys) - at(o_.queries));
    const float* q = query_.data() + r * at(o_.key_size);
    std::vector<float> scores(row.keys);
    for (std::size_t j = 0; j < row.keys; ++j) {
      const float* k = key_.data() + j * at(o_.key_size);
      const float s = backward_detail::dot(kernel_.sums, q, k, at(o_.key_size));
      scores[j] = kernel_.eager ? stored(stored(s) * scale_) : s * scale_;
    }
    kernel_.eager ? eager_row(r, scores, row) : flash_row(r, scores, row);
    rows_.push_back(std::move(row));
  }

  float along(std::size_t r, std::size_t j) const {
    return backward_detail::dot(kernel_.sums, grad_.data() + r * at(o_.value_size),
                                value_.data() + j * at(o_.value_size), at(o_.value_size));
  }

  void eager_row(std::size_t r, const std::vector<float>& scores, Row& row) const {
    const float largest = *std::ranges::max_element(scores);
    std::vector<float> numerators, products;
    for (const float s : scores) numerators.push_back(std::exp(s - largest));
    const float total = sum(numerators);
    for (const float e : numerators) row.weights.push_back(stored(e / total));
    for (std::size_t j = 0; j < row.keys; ++j) products.push_back(stored(along(r, j)));
    float delta = backward_detail::dot(kernel_.sums, row.weights.data(), products.data(), row.keys);
    if (kernel_.delta_dropped) delta = 0;
    const auto grad_lse = static_cast<float>(o_.grad_lse_of(r));
    for (std::size_t j = 0; j < row.keys; ++j) {
      float derivative = stored(row.weights[j] * (products[j] - delta));
      // As a framework sums the gradients of two uses of the scores.
      if (grad_lse != 0) derivative = stored(derivative + stored(row.weights[j] * grad_lse));
      row.derivatives.push_back(stored(derivative * scale_));
    }
  }

  float sum(const std::vector<float>& x) const {
    const std::vector<float> ones(x.size(), 1.0F);
    return backward_detail::dot(kernel_.sums, x.data(), ones.data(), x.size());
  }

  // The output and the log-sum-exp in one pass over tiles, in base 2.
  float online_forward(const std::vector<float>& scores, std::vector<float>& output) const {
    const float log2e = std::log2(std::exp(1.0F));
    float largest = -1e30F;
    float total = 0;
    for (std::size_t begin = 0; begin < scores.size(); begin += 64) {
      const std::size_t end = std::min(scores.size(), begin + 64);
      float next = largest;
      for (std::size_t j = begin; j < end; ++j) next = std::max(next, scores[j] * log2e);
      const float rescale = std::exp2(largest - next);
      std::vector<float> numerators;
      for (std::size_t j = begin; j < end; ++j) {
        numerators.push_back(std::exp2(scores[j] * log2e - next));
      }
      total = total * rescale + sum(numerators);
      const auto more = backward_detail::weighted_sum(
          kernel_.sums, end - begin, output.size(),
          [&](std::size_t j) { return stored(numerators[j]); },
          [&](std::size_t j) { return value_.data() + (begin + j) * output.size(); });
      for (std::size_t c = 0; c < output.size(); ++c) output[c] = output[c] * rescale + more[c];
      largest = next;
    }
    for (float& x : output) x = stored(x / total);
    return (largest + std::log2(total)) / log2e;
  }

  float plain_forward(const std::vector<float>& scores, std::vector<float>& output) const {
    const float largest = *std::ranges::max_element(scores);
    std::vector<float> numerators;
    for (const float s : scores) numerators.push_back(std::exp(s - largest));
    const float total = sum(numerators);
    output = backward_detail::weighted_sum(
        kernel_.sums, scores.size(), output.size(),
        [&](std::size_t j) { return stored(numerators[j]); },
        [&](std::size_t j) { return value_.data() + j * output.size(); });
    for (float& x : output) x = stored(x / total);
    return largest + std::log(total);
  }

  void flash_row(std::size_t r, const std::vector<float>& scores, Row& row) const {
    std::vector<float> output(at(o_.value_size));
    const float lse =
        kernel_.online ? online_forward(scores, output) : plain_forward(scores, output);
    float delta = backward_detail::dot(kernel_.sums, grad_.data() + r * output.size(),
                                       output.data(), output.size());
    if (kernel_.delta_dropped) delta = 0;
    delta -= static_cast<float>(o_.grad_lse_of(r));
    for (std::size_t j = 0; j < row.keys; ++j) {
      row.weights.push_back(std::exp(scores[j] - lse));
      row.derivatives.push_back(stored(row.weights[j] * (along(r, j) - delta)));
    }
  }

  const BackwardOperands& o_;
  BackwardKernel kernel_;
  const FloatFormat& format_;
  std::vector<float> query_, key_, value_, grad_;
  float scale_;
  std::vector<Row> rows_;
};

/// The model that such a kernel obeys.
inline PrecisionModel model_of(const BackwardKernel& kernel) {
  const FloatFormat& format = *float_format(kernel.storage);
  const double u = format.unit_roundoff();
  PrecisionModel model = f32_model;
  if (kernel.storage == ElementType::bfloat16) model = bf16_f32_model;
  if (kernel.storage == ElementType::binary16) model = f16_f32_model;
  if (kernel.eager) model.stored_score = u;
  return model;
}

/// Operands whose kind decides what a backward pass is hard on.
enum class BackwardInputs {
  normal,
  uniform,
  queries2,
  queries4,
  mean1,
  sink,          ///< the first key has a logit 8 to `largest_gap` above the others
  sink_uniform,  ///< and grad_output has one sign
  tight_values,  ///< 1 + 0.05 normal, grad_output of one sign
  zero_queries,  ///< equal weights
  few_keys,      ///< three different keys, grad_output of one sign
  few_rows,      ///< and one query
};

inline BackwardOperands draw_backward(Random& random, BackwardInputs kind,
                                      const FloatFormat& format, std::int64_t heads,
                                      std::int64_t queries, std::int64_t keys, std::int64_t width,
                                      double grad_scale, bool causal, double largest_gap = 25) {
  using enum BackwardInputs;
  BackwardOperands o;
  o.heads = heads;
  o.queries = queries;
  o.keys = keys;
  o.key_size = o.value_size = width;
  o.causal = causal;
  const bool one_sign = kind == sink_uniform || kind == tight_values || kind == zero_queries ||
                        kind == few_keys || kind == few_rows || kind == uniform;
  const auto draw = [&](std::int64_t rows, double factor, double mean, bool positive) {
    std::vector<double> values(static_cast<std::size_t>(rows * width));
    for (double& x : values) x = mean + factor * (positive ? random.unit() : random.normal());
    return values;
  };
  double factor = kind == queries2 ? 2 : 1;
  if (kind == queries4) factor = 4;
  if (kind == zero_queries) factor = 0;
  const bool all_positive = kind == uniform;
  o.query = draw(heads * queries, factor, 0, all_positive);
  o.key = draw(keys, 1, 0, all_positive);
  o.value = draw(keys, kind == tight_values ? 0.05 : 1, kind == mean1 || kind == tight_values,
                 all_positive || kind == few_keys);
  o.grad = draw(heads * queries, grad_scale, 0, one_sign);
  const auto w = static_cast<std::size_t>(width);
  if (kind == sink || kind == sink_uniform) {
    const double gap = random.uniform(8, largest_gap);
    for (std::size_t r = 0; r < o.query.size() / w; ++r) {
      o.query[r * w] = gap * std::sqrt(static_cast<double>(width)) / 4 + 0.3 * random.normal();
    }
    for (std::size_t j = 0; j < o.key.size() / w; ++j) {
      o.key[j * w] = j == 0 ? 4 : 0.1 * random.normal();
    }
  }
  if (kind == few_keys || kind == few_rows) {
    for (std::size_t j = 3; j < o.key.size() / w; ++j) {
      std::copy_n(o.key.begin() + static_cast<std::ptrdiff_t>(random.integer(0, 2) * width), w,
                  o.key.begin() + static_cast<std::ptrdiff_t>(j * w));
    }
  }
  if (kind == few_rows) {
    for (std::size_t r = 1; r < o.query.size() / w; ++r) {
      std::copy_n(o.query.begin(), w, o.query.begin() + static_cast<std::ptrdiff_t>(r * w));
    }
  }
  for (auto* values : {&o.query, &o.key, &o.value, &o.grad}) {
    for (double& x : *values) x = rounded(format, x);
  }
  if (random.one_in(4)) draw_grad_lse(random, o);
  return o;
}

}  // namespace gqa::test
