// Gradients of grouped attention: what backpropagation through the layer must give.
#pragma once

#include <cstdint>
#include <vector>

#include "gqa/attention/attention.hpp"
#include "gqa/error.hpp"

namespace gqa {

/// Gradients of sum(grad_output * output) + sum(grad_lse * lse) in the words of ONNX and PyTorch. A
/// shared head's grad_key and grad_value are the sums over the query heads that read it.
template <class N>
struct AttentionGradients {
  Tensor<typename N::Strength> query;  ///< [B, Hq, T, dk]
  Tensor<typename N::Query> key;       ///< [B, Hkv, S, dk]: strengths times scaled queries
  Tensor<typename N::Value> value;     ///< [B, Hkv, S, dv]
};

/// Back through one row: weights w, grad_output g, output o, grad_lse l (the derivative of lse by
/// s_j is w_j).
///   grad_value_j += w_j g,  s_j' = w_j (g.v_j - g.o + l),  query' += scale s_j' k_j,
///   grad_key_j += s_j' (scale q), each s_j' times the slope of the softcap.
/// A sink takes part through w and o alone; an empty row has no gradient.
template <class N>
class GradientReader {
 public:
  using Strength = typename N::Strength;

  GradientReader(const Problem<N>& problem, const AttentionResult<N>& result,
                 const Tensor<typename N::Value>& grad_output,
                 const Tensor<typename N::Value>* grad_lse, const Visibility& visibility)
      : problem_(problem),
        result_(result),
        grad_output_(grad_output),
        grad_lse_(grad_lse),
        visibility_(visibility) {}

  void row(std::int64_t batch, std::int64_t head, std::int64_t kv_head, std::int64_t i,
           AttentionGradients<N>& gradients) const {
    const auto at = static_cast<std::size_t>(i);
    const auto weights = result_.weights.matrix(batch, head).row(at);
    const auto output = result_.output.matrix(batch, head).row(at);
    const auto grad = grad_output_.matrix(batch, head).row(at);
    const auto value = problem_.value.matrix(batch, kv_head);
    Strength mean = product(grad, output);
    if (grad_lse_ != nullptr) mean = Strength(mean - grad_lse_->matrix(batch, head)(at, 0));
    for (const std::size_t j : visibility_.keys_of(batch, head, i)) {
      const auto grad_value = gradients.value.matrix(batch, kv_head).row(j);
      for (std::size_t c = 0; c < grad.size(); ++c) {
        grad_value[c] += typename N::Value(weights[j] * grad[c]);
      }
      if (problem_.strengths) continue;
      const Strength along(product(grad, value.row(j)) - mean);
      Strength score(weights[j] * along);
      score = Strength(score * slope(batch, head, kv_head, at, j));
      spread(batch, head, kv_head, at, j, score, gradients);
    }
  }

 private:
  template <class A, class B>
  static Strength product(std::span<A> a, std::span<B> b) {
    Strength sum(0);
    for (std::size_t c = 0; c < a.size(); ++c) sum += Strength(a[c] * b[c]);
    return sum;
  }

  Strength slope(std::int64_t batch, std::int64_t head, std::int64_t kv_head, std::size_t i,
                 std::size_t j) const {
    if (!problem_.softcap) return Strength(1);
    if constexpr (requires(const Strength& cap) { bool(cap == Strength(0)); }) {
      if (*problem_.softcap == Strength(0)) return Strength(1);
    } else {
      if (problem_.softcap->is_exact() && problem_.softcap->contains_zero()) return Strength(1);
    }
    const auto capped =
        score_stages<N>(N::dot(problem_.query.matrix(batch, head).row(i),
                               problem_.key.matrix(batch, kv_head).row(j)),
                        problem_.scale ? &*problem_.scale : nullptr, &*problem_.softcap, nullptr);
    return softcap_slope<N>(capped, *problem_.softcap);
  }

  void spread(std::int64_t batch, std::int64_t head, std::int64_t kv_head, std::size_t i,
              std::size_t j, const Strength& score, AttentionGradients<N>& gradients) const {
    const auto query = problem_.query.matrix(batch, head).row(i);
    const auto key = problem_.key.matrix(batch, kv_head).row(j);
    const auto grad_query = gradients.query.matrix(batch, head).row(i);
    const auto grad_key = gradients.key.matrix(batch, kv_head).row(j);
    const Strength factor = problem_.scale ? Strength(score * *problem_.scale) : score;
    for (std::size_t c = 0; c < key.size(); ++c) {
      grad_query[c] += Strength(factor * key[c]);
      grad_key[c] += typename N::Query(query[c] * factor);
    }
  }

  const Problem<N>& problem_;
  const AttentionResult<N>& result_;
  const Tensor<typename N::Value>& grad_output_;
  const Tensor<typename N::Value>* grad_lse_;
  const Visibility& visibility_;
};

/// Gradients of sum(grad_output * output) + sum(grad_lse * lse), grad_output [B, Hq, T, dv],
/// grad_lse [B, Hq, T, 1] or null: zero; lse is the natural logarithm. With stipulated strengths
/// query and key are empty: there is nothing to derive by.
///
/// Result: exact in ExactNumbers (the key's as rational combinations of logarithms), an
/// enclosure in BallNumbers, otherwise rounded.
/// Errors: those of attention(); "contract.shape_mismatch" at "grad_output" and "grad_lse".
/// Source: the derivative of softmax; compare Dao et al., FlashAttention (2022), algorithm 4.
template <class N>
AttentionGradients<N> attention_gradients(const Problem<N>& problem,
                                          const Tensor<typename N::Value>& grad_output,
                                          const Tensor<typename N::Value>* grad_lse = nullptr) {
  const AttentionResult<N> result = attention(problem);
  if (grad_output.shape() != result.output.shape()) {
    throw InputError("contract.shape_mismatch", "grad_output",
                     "shape " + to_text(grad_output.shape()) + " does not fit; expected " +
                         to_text(result.output.shape()));
  }
  const Dimensions d = dimensions_of(problem);
  const Shape of_lse{d.batch, d.q_heads, d.queries, 1};
  if (grad_lse != nullptr && grad_lse->shape() != of_lse) {
    throw InputError(
        "contract.shape_mismatch", "grad_lse",
        "shape " + to_text(grad_lse->shape()) + " does not fit; expected " + to_text(of_lse));
  }
  const auto head_map = resolve_head_map(problem.contract.head_map, d.q_heads, d.kv_heads);
  const Visibility visibility(problem.contract, d, problem.lengths, problem.mask);
  AttentionGradients<N> gradients;
  gradients.value = Tensor<typename N::Value>(problem.value.shape(), typename N::Value(0));
  if (!problem.strengths) {
    gradients.query = Tensor<typename N::Strength>(problem.query.shape(), typename N::Strength(0));
    gradients.key = Tensor<typename N::Query>(problem.key.shape());
  }
  const GradientReader<N> reader(problem, result, grad_output, grad_lse, visibility);
  for (std::int64_t b = 0; b < d.batch; ++b) {
    for (std::int64_t h = 0; h < d.q_heads; ++h) {
      for (std::int64_t i = 0; i < d.queries; ++i) {
        reader.row(b, h, head_map[static_cast<std::size_t>(h)], i, gradients);
      }
    }
  }
  return gradients;
}

/// [B, Hq, S, x] -> [B, Hkv, S, x]: the sums over the query heads that the map gives each KV
/// head; what turns gradients of an expanded history into those of the shared one.
template <class T>
Tensor<T> sum_over_groups(const Tensor<T>& expanded, const std::vector<std::int64_t>& head_map,
                          std::int64_t kv_heads) {
  Shape shape = expanded.shape();
  shape[1] = kv_heads;
  Tensor<T> sums(shape, T());
  for (std::int64_t b = 0; b < shape[0]; ++b) {
    for (std::size_t h = 0; h < head_map.size(); ++h) {
      const auto from = expanded.matrix(b, static_cast<std::int64_t>(h));
      const auto to = sums.matrix(b, head_map[h]);
      for (std::size_t r = 0; r < from.rows(); ++r) {
        for (std::size_t c = 0; c < from.columns(); ++c) to(r, c) += from(r, c);
      }
    }
  }
  return sums;
}

}  // namespace gqa
