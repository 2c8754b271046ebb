// Backward passes in any precision, each step rounded as a precision model says; healthy ones.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "audit/rounded_kernels.hpp"

namespace gqa::test {

/// One history, `heads` query heads on it; row-major query [heads, T, dk], key [S, dk], value
/// [S, dv], grad [heads, T, dv].
struct BackwardOperands {
  std::int64_t heads = 1, queries = 1, keys = 1, key_size = 1, value_size = 1;
  bool causal = false;  ///< bottom right
  double softcap = 0;
  std::vector<double> query, key, value, grad;
  std::vector<double> grad_lse = {};  ///< [heads, T] in binary32; empty: none

  double grad_lse_of(std::size_t row) const { return grad_lse.empty() ? 0 : grad_lse[row]; }
};

/// How a healthy backward pass goes about it.
struct BackwardWay {
  bool delta_from_output = true;  ///< sum g o; otherwise sum w (g.v)
  bool heads_stored = false;      ///< each head's part is stored before the group is summed
  bool normalised = false;        ///< weights divided and stored, not exp(s - lse)
  bool late_scale = true;         ///< the scale after the sum; otherwise in ds
  bool reversed = false;          ///< sums run from the last row or key
  bool lse_apart = false;         ///< w grad_lse is added to w (g.v - delta)
  Errors errors = Errors::rounded;
  const FloatFormat* weights = nullptr;  ///< of w and ds before products; null: as stored
};

struct BackwardResult {
  std::vector<double> query, key, value;
};

class RoundedBackward {
 public:
  RoundedBackward(const BackwardOperands& operands, const KernelFormats& formats, BackwardWay way)
      : o_(operands), f_(formats), way_(way) {}

  BackwardResult run() {
    const auto heads = size(o_.heads);
    BackwardResult result;
    std::vector<double> key(size(o_.keys * o_.key_size)), value(size(o_.keys * o_.value_size));
    scale_ = in(1 / in(std::sqrt(static_cast<double>(o_.key_size))));
    for (std::size_t h = 0; h < heads; ++h) {
      std::vector<double> own_key(key.size()), own_value(value.size());
      std::vector<double>& to_key = way_.heads_stored ? own_key : key;
      std::vector<double>& to_value = way_.heads_stored ? own_value : value;
      for (const std::size_t i : order(size(o_.queries))) row(h, i, to_key, to_value);
      if (way_.late_scale && way_.heads_stored) scale_all(own_key);
      if (!way_.heads_stored) continue;
      for (std::size_t e = 0; e < key.size(); ++e) key[e] = in(key[e] + stored(own_key[e]));
      for (std::size_t e = 0; e < value.size(); ++e) value[e] = in(value[e] + stored(own_value[e]));
    }
    if (way_.late_scale && !way_.heads_stored) scale_all(key);
    result.query = query_;
    for (const double x : key) result.key.push_back(stored(x));
    for (const double x : value) result.value.push_back(stored(x));
    return result;
  }

 private:
  static std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }
  double in(double x) {
    if (way_.errors == Errors::rounded) return rounded(*f_.inner, x);
    up_ = !up_;
    const double sign = (way_.errors == Errors::up) == up_ ? 1 : -1;
    return x * (1 + sign * f_.inner->unit_roundoff());
  }
  double stored(double x) const { return rounded(f_.stored(), x); }
  double as_weight(double x) const {
    return rounded(way_.weights == nullptr ? f_.stored() : *way_.weights, x);
  }
  double kept(double x) const { return f_.scores_stored ? stored(x) : x; }
  std::vector<std::size_t> order(std::size_t n) const {
    std::vector<std::size_t> all(n);
    for (std::size_t i = 0; i < n; ++i) all[i] = way_.reversed ? n - 1 - i : i;
    return all;
  }
  void scale_all(std::vector<double>& values) {
    for (double& x : values) x = in(x * scale_);
  }
  double dot(const double* a, const double* b, std::int64_t n) {
    double sum = 0;
    for (const std::size_t t : order(size(n))) sum = in(sum + in(a[t] * b[t]));
    return sum;
  }

  void row(std::size_t h, std::size_t i, std::vector<double>& key, std::vector<double>& value) {
    const double* q = o_.query.data() + (h * size(o_.queries) + i) * size(o_.key_size);
    const double* g = o_.grad.data() + (h * size(o_.queries) + i) * size(o_.value_size);
    std::vector<std::size_t> visible;
    for (const std::size_t j : order(size(o_.keys))) {
      if (!o_.causal || j <= i + size(o_.keys) - size(o_.queries)) visible.push_back(j);
    }
    std::vector<double> scores, slopes, weights, along;
    double largest = -std::numeric_limits<double>::infinity();
    for (const std::size_t j : visible) {
      double s = kept(in(dot(q, o_.key.data() + j * size(o_.key_size), o_.key_size) * scale_));
      double slope = 1;
      if (o_.softcap > 0) {
        const double y = in(std::tanh(in(s / o_.softcap)));
        slope = in(1 - in(y * y));
        s = kept(in(y * o_.softcap));
      }
      scores.push_back(s);
      slopes.push_back(slope);
      largest = std::max(largest, s);
    }
    double total = 0;
    for (const double s : scores) total = in(total + in(std::exp(in(s - largest))));
    const double lse = in(largest + in(std::log(total)));
    for (const double s : scores) {
      weights.push_back(way_.normalised ? as_weight(in(in(std::exp(in(s - largest))) / total))
                                        : in(std::exp(in(s - lse))));
    }
    std::vector<double> output(size(o_.value_size));
    for (std::size_t k = 0; k < visible.size(); ++k) {
      const double* v = o_.value.data() + visible[k] * size(o_.value_size);
      for (std::size_t c = 0; c < output.size(); ++c) {
        output[c] = in(output[c] + in(as_weight(weights[k]) * v[c]));
      }
      along.push_back(kept(dot(g, v, o_.value_size)));
    }
    for (double& x : output) x = stored(x);
    double delta = 0;
    if (way_.delta_from_output) {
      delta = dot(g, output.data(), o_.value_size);
    } else {
      for (std::size_t k = 0; k < along.size(); ++k) delta = in(delta + in(weights[k] * along[k]));
    }
    const double grad_lse = o_.grad_lse_of(h * size(o_.queries) + i);
    if (grad_lse != 0 && !way_.lse_apart) delta = in(delta - grad_lse);
    std::vector<double> query(size(o_.key_size));
    for (std::size_t k = 0; k < visible.size(); ++k) {
      double ds = in(weights[k] * in(along[k] - delta));
      if (grad_lse != 0 && way_.lse_apart) ds = in(kept(ds) + kept(in(weights[k] * grad_lse)));
      if (o_.softcap > 0) ds = in(ds * slopes[k]);
      if (!way_.late_scale) ds = in(ds * scale_);
      ds = as_weight(kept(ds));
      const double p = as_weight(weights[k]);
      const std::size_t j = visible[k];
      for (std::size_t t = 0; t < query.size(); ++t) {
        query[t] = in(query[t] + in(ds * o_.key[j * size(o_.key_size) + t]));
        double& to = key[j * size(o_.key_size) + t];
        to = in(to + in(ds * q[t]));
      }
      for (std::size_t c = 0; c < output.size(); ++c) {
        double& to = value[j * size(o_.value_size) + c];
        to = in(to + in(p * g[c]));
      }
    }
    if (query_.empty()) query_.resize(size(o_.heads * o_.queries * o_.key_size));
    for (std::size_t t = 0; t < query.size(); ++t) {
      query_[(h * size(o_.queries) + i) * size(o_.key_size) + t] =
          stored(way_.late_scale ? in(query[t] * scale_) : query[t]);
    }
  }

  const BackwardOperands& o_;
  const KernelFormats& f_;
  BackwardWay way_;
  double scale_ = 1;
  bool up_ = false;
  std::vector<double> query_;
};

/// Everything that a recording of it holds, and its contract.
inline ProblemTensors backward_tensors(const BackwardOperands& o, ElementType storage,
                                       const BackwardResult& result) {
  ProblemTensors t;
  t.query = tensor_of(storage, {1, o.heads, o.queries, o.key_size}, o.query);
  t.key = tensor_of(storage, {1, 1, o.keys, o.key_size}, o.key);
  t.value = tensor_of(storage, {1, 1, o.keys, o.value_size}, o.value);
  t.grad_output = tensor_of(storage, {1, o.heads, o.queries, o.value_size}, o.grad);
  if (!o.grad_lse.empty()) {
    t.grad_lse = tensor_of(ElementType::binary32, {1, o.heads, o.queries}, o.grad_lse);
  }
  t.grad_query = tensor_of(storage, t.query->shape, result.query);
  t.grad_key = tensor_of(storage, t.key->shape, result.key);
  t.grad_value = tensor_of(storage, t.value->shape, result.value);
  return t;
}

inline Contract backward_contract(const BackwardOperands& o) {
  Contract contract;
  contract.causal = o.causal;
  contract.softcap = Rational(o.softcap);
  return contract;
}

/// Gradients of the log-sum-exp, some rows' zero, of the size of the others or far from it.
inline void draw_grad_lse(Random& random, BackwardOperands& o) {
  o.grad_lse.resize(static_cast<std::size_t>(o.heads * o.queries));
  const double size = random.pick({1e-3, 1.0, 1.0, 30.0});
  for (double& x : o.grad_lse) x = random.one_in(8) ? 0 : rounded(binary32, size * random.normal());
}

/// Random operands that the type holds.
inline BackwardOperands random_backward(Random& random, const FloatFormat& stored) {
  BackwardOperands o;
  o.heads = random.integer(1, 4);
  o.queries = random.pick<std::int64_t>({1, 3, 17, 40});
  o.keys = o.queries + random.pick<std::int64_t>({0, 0, 5, 60});
  o.key_size = random.pick<std::int64_t>({1, 4, 16});
  o.value_size = random.pick<std::int64_t>({1, 3, 16});
  o.causal = random.one_in(2);
  if (random.one_in(4)) o.softcap = 2;
  const auto draw = [&](std::int64_t count, double factor, bool equal) {
    std::vector<double> values(static_cast<std::size_t>(count));
    const double one = random.normal();
    for (double& x : values) {
      const double tiny = random.one_in(20) ? 0x1p-20 : 1;
      x = rounded(stored, factor * tiny * (equal ? one : random.normal()));
    }
    return values;
  };
  const double spread = random.pick({0.01, 1.0, 1.0, 3.0});
  o.query = draw(o.heads * o.queries * o.key_size, spread, false);
  o.key = draw(o.keys * o.key_size, 1, random.one_in(6));
  o.value = draw(o.keys * o.value_size, random.pick({1e-3, 1.0, 30.0}), random.one_in(6));
  o.grad = draw(o.heads * o.queries * o.value_size, random.pick({1e-4, 1.0}), random.one_in(6));
  if (random.one_in(3)) draw_grad_lse(random, o);
  return o;
}

inline BackwardWay random_way(Random& random) {
  BackwardWay way;
  way.delta_from_output = random.one_in(2);
  way.heads_stored = random.one_in(2);
  way.normalised = random.one_in(2);
  way.late_scale = random.one_in(2);
  way.reversed = random.one_in(2);
  way.lse_apart = random.one_in(2);
  way.errors = random.pick({Errors::rounded, Errors::rounded, Errors::up, Errors::down});
  return way;
}

}  // namespace gqa::test
