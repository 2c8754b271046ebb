// Small seeded problems with outputs and gradients by plain loops in binary64: the formula written
// down once more, so that a fault can be put in by hand and nothing of the library is asked.
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "gqa/attention/attention_problem.hpp"
#include "kernel/random_call.hpp"
#include "support/random.hpp"
#include "support/typed.hpp"

namespace gqa::test {

struct SmallSizes {
  std::int64_t q_heads = 4, kv_heads = 2, queries = 4, keys = 24, size = 16;
};

/// What a kernel does with one problem of one batch entry; as made, the contract without rules.
struct SmallRules {
  std::function<bool(std::int64_t i, std::int64_t j)> visible = [](auto, auto) { return true; };
  std::function<double(double product, std::int64_t h, std::int64_t i, std::int64_t j)> score;
  std::function<std::int64_t(std::int64_t h)> kv_head;
  std::function<double(std::int64_t h)> factor = [](auto) { return 1.0; };  ///< of the output
  bool history_is_zero = false;  ///< of keys and values before the newest T
};

class SmallProblem {
 public:
  SmallProblem(const SmallSizes& sizes, ElementType type, std::uint64_t seed)
      : s(sizes), type_(type), random_(seed) {
    tensors.query = normal({1, s.q_heads, s.queries, s.size});
    tensors.key = normal({1, s.kv_heads, s.keys, s.size});
    tensors.value = normal({1, s.kv_heads, s.keys, s.size});
    query = decode(*tensors.query).data();
    key = decode(*tensors.key).data();
    value = decode(*tensors.value).data();
  }

  std::shared_ptr<TypedTensor> normal(Shape shape) {
    return normal_tensor(random_, type_, std::move(shape));
  }
  std::shared_ptr<TypedTensor> rounded(Shape shape, const std::vector<double>& numbers) const {
    const FloatFormat& format = *float_format(type_);
    std::vector<std::uint64_t> bits;
    for (const double x : numbers) {
      bits.push_back(std::isnan(x) ? encode_exact(format, x).value()
                                   : round_to_nearest_even(format, Rational(x)));
    }
    return tensor_of_bits(type_, std::move(shape), bits);
  }
  Shape output_shape() const { return {1, s.q_heads, s.queries, s.size}; }

  SmallRules rules() const {
    SmallRules r;
    const double scale = 1 / std::sqrt(static_cast<double>(s.size));
    r.score = [scale](double product, auto, auto, auto) { return scale * product; };
    const std::int64_t group = s.q_heads / s.kv_heads;
    r.kv_head = [group](std::int64_t h) { return h / group; };
    return r;
  }
  /// The bottom-right causal rule, `shift` keys to the right of where it belongs.
  SmallRules causal(std::int64_t shift = 0) const {
    SmallRules r = rules();
    const std::int64_t offset = s.keys - s.queries + shift;
    r.visible = [offset](std::int64_t i, std::int64_t j) { return j <= i + offset; };
    return r;
  }

  /// Weights of one row over all keys, zero where a key is not visible; and its log-sum-exp.
  std::vector<double> weights(const SmallRules& r, std::int64_t h, std::int64_t i,
                              double* log_sum = nullptr) const {
    const std::int64_t kv = r.kv_head(h);
    std::vector<double> w(static_cast<std::size_t>(s.keys), 0);
    double total = 0;
    for (std::int64_t j = 0; j < s.keys; ++j) {
      if (!r.visible(i, j)) continue;
      double product = 0;
      for (std::int64_t d = 0; d < s.size; ++d) product += q(h, i, d) * k(r, kv, j, d);
      w[at(j)] = std::exp(r.score(product, h, i, j));
      total += w[at(j)];
    }
    for (double& x : w) x = total > 0 ? x / total : 0;
    if (log_sum != nullptr) *log_sum = std::log(total);
    return w;
  }

  std::vector<double> output(const SmallRules& r) const {
    std::vector<double> o;
    for (std::int64_t h = 0; h < s.q_heads; ++h) {
      for (std::int64_t i = 0; i < s.queries; ++i) {
        const std::vector<double> w = weights(r, h, i);
        for (std::int64_t c = 0; c < s.size; ++c) {
          double sum = 0;
          for (std::int64_t j = 0; j < s.keys; ++j) sum += w[at(j)] * v(r, r.kv_head(h), j, c);
          o.push_back(r.factor(h) * sum);
        }
      }
    }
    return o;
  }

  struct Gradients {
    std::vector<double> query, key, value;
  };

  /// What a fused backward pass computes: weights exp(s - lse) and delta with lse and output of
  /// the forward pass `forward`; the part of head h is added to KV head sum_head(h); dQ and dK are
  /// times `factor`; delta is times `delta_factor`. `grad_lse`: [Hq, T], or empty.
  Gradients backward(const std::vector<double>& grad, const SmallRules& own,
                     const SmallRules& forward,
                     const std::function<std::int64_t(std::int64_t)>& sum_head, double factor = 1,
                     double delta_factor = 1, const std::vector<double>& grad_lse = {}) const {
    Gradients g{std::vector<double>(query.size(), 0), std::vector<double>(key.size(), 0),
                std::vector<double>(value.size(), 0)};
    const double scale = 1 / std::sqrt(static_cast<double>(s.size));
    const std::vector<double> o = output(forward);
    for (std::int64_t h = 0; h < s.q_heads; ++h) {
      const std::int64_t kv = own.kv_head(h);
      for (std::int64_t i = 0; i < s.queries; ++i) {
        double forward_lse = 0, own_lse = 0;
        weights(forward, h, i, &forward_lse);
        const std::vector<double> w = weights(own, h, i, &own_lse);
        double delta = 0;
        for (std::int64_t c = 0; c < s.size; ++c) {
          delta += delta_factor * grad[row(h, i) + at(c)] * o[row(h, i) + at(c)];
        }
        for (std::int64_t j = 0; j < s.keys; ++j) {
          const double p = w[at(j)] * std::exp(own_lse - forward_lse);
          double product = 0;
          for (std::int64_t c = 0; c < s.size; ++c) {
            product += grad[row(h, i) + at(c)] * value[history(kv, j) + at(c)];
          }
          const double l = grad_lse.empty() ? 0 : grad_lse[at(h * s.queries + i)];
          const double ds = factor * scale * p * (product - delta + l);
          for (std::int64_t d = 0; d < s.size; ++d) {
            const std::size_t to = history(sum_head(h), j) + at(d);
            g.query[row(h, i) + at(d)] += ds * key[history(kv, j) + at(d)];
            g.key[to] += ds * q(h, i, d);
            g.value[to] += p * grad[row(h, i) + at(d)];
          }
        }
      }
    }
    return g;
  }

  SmallSizes s;
  ProblemTensors tensors;
  std::vector<double> query, key, value;

 private:
  static std::size_t at(std::int64_t n) { return static_cast<std::size_t>(n); }
  std::size_t row(std::int64_t h, std::int64_t i) const { return at((h * s.queries + i) * s.size); }
  std::size_t history(std::int64_t kv, std::int64_t j) const {
    return at((kv * s.keys + j) * s.size);
  }
  bool is_zero(const SmallRules& r, std::int64_t j) const {
    return r.history_is_zero && j < s.keys - s.queries;
  }
  double q(std::int64_t h, std::int64_t i, std::int64_t d) const {
    return query[row(h, i) + at(d)];
  }
  double k(const SmallRules& r, std::int64_t kv, std::int64_t j, std::int64_t d) const {
    return is_zero(r, j) ? 0 : key[history(kv, j) + at(d)];
  }
  double v(const SmallRules& r, std::int64_t kv, std::int64_t j, std::int64_t c) const {
    return is_zero(r, j) ? 0 : value[history(kv, j) + at(c)];
  }

  ElementType type_;
  Random random_;
};

}  // namespace gqa::test
