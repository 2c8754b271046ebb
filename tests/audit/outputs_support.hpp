// Problems with every output recorded, as the oracle's long doubles have them.
#pragma once

#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "gqa/attention/attention_problem.hpp"
#include "oracle/naive_attention.hpp"
#include "support/random_problem.hpp"
#include "support/typed.hpp"

namespace gqa::test {

inline constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

/// [a][b][c][d] in memory order, each number rounded to binary64.
template <class T>
std::vector<double> flat(const oracle::Array4<T>& array) {
  std::vector<double> numbers;
  for (const auto& x : array) {
    for (const auto& y : x) {
      for (const auto& z : y) {
        for (const T& element : z) numbers.push_back(static_cast<double>(element));
      }
    }
  }
  return numbers;
}

/// A random problem in the oracle's terms, whose operands are binary64 numbers.
inline oracle::RealProblem random_real_problem(Random& random) {
  oracle::RealProblem p;
  p.rules = random_rules(random);
  const oracle::Rules& r = p.rules;
  const auto number = [&random] { return static_cast<long double>(random.normal()); };
  p.query = random_array<long double>(r.batch, r.q_heads, r.queries, r.key_size, number);
  p.key = random_array<long double>(r.batch, r.kv_heads, r.keys, r.key_size, number);
  p.value = random_array<long double>(r.batch, r.kv_heads, r.keys, r.value_size, number);
  if (random.one_in(2)) {
    p.bias = random_array<long double>(r.batch, r.q_heads, r.queries, r.keys, number);
  }
  if (random.one_in(3)) {
    for (int h = 0; h < r.q_heads; ++h) p.sink.push_back(number());
  }
  p.scale = 0.375L;
  if (random.one_in(2)) p.softcap = 1.5L;
  return p;
}

inline Contract contract_of(const oracle::RealProblem& p) {
  const oracle::Rules& r = p.rules;
  Contract c;
  c.scale = make_rational(3, 8);
  if (p.softcap != 0) c.softcap = make_rational(3, 2);
  c.head_map = {HeadMapKind::explicit_list, {r.kv_head_of.begin(), r.kv_head_of.end()}};
  c.causal = r.causal;
  c.causal_alignment = r.alignment == oracle::Alignment::top_left ? CausalAlignment::top_left
                       : r.alignment == oracle::Alignment::onnx   ? CausalAlignment::onnx
                                                                  : CausalAlignment::bottom_right;
  c.window = {r.left, r.right};
  return c;
}

/// Inputs and a correct `output`; the boolean mask goes into a float one where there is a bias.
inline ProblemTensors tensors_of(const oracle::RealProblem& p) {
  const oracle::Rules& r = p.rules;
  constexpr ElementType type = ElementType::binary64;
  ProblemTensors t;
  t.query = tensor_of(type, {r.batch, r.q_heads, r.queries, r.key_size}, flat(p.query));
  t.key = tensor_of(type, {r.batch, r.kv_heads, r.keys, r.key_size}, flat(p.key));
  t.value = tensor_of(type, {r.batch, r.kv_heads, r.keys, r.value_size}, flat(p.value));
  t.output = tensor_of(type, {r.batch, r.q_heads, r.queries, r.value_size},
                       flat(oracle::attend(p).output));
  const Shape scores{r.batch, r.q_heads, r.queries, r.keys};
  std::vector<double> mask(static_cast<std::size_t>(element_count(scores)), 0.0);
  if (!p.bias.empty()) mask = flat(p.bias);
  if (!r.mask.empty()) {
    const std::vector<double> visible = flat(r.mask);
    for (std::size_t i = 0; i < mask.size(); ++i) {
      if (visible[i] == 0) mask[i] = minus_infinity;
    }
  }
  if (!p.bias.empty() || !r.mask.empty()) t.attn_mask = tensor_of(type, scores, mask);
  if (!r.lengths.empty()) {
    t.nonpad_kv_seqlen =
        tensor_of_bits(ElementType::int64, {r.batch}, {r.lengths.begin(), r.lengths.end()});
  }
  if (!p.sink.empty()) {
    t.sink = tensor_of(type, {r.q_heads}, {p.sink.begin(), p.sink.end()});
  }
  return t;
}

/// qk_matmul_output of modes 0 to 3, one loop per index, straight from docs/contract.md.
inline std::vector<double> recorded_scores(const oracle::RealProblem& p, int mode) {
  if (mode == 3) return flat(oracle::attend(p).weights);
  const oracle::Rules& r = p.rules;
  auto scores = oracle::array4<long double>(r.batch, r.q_heads, r.queries, r.keys, 0);
  for (std::size_t b = 0; b < scores.size(); ++b) {
    for (std::size_t h = 0; h < scores[b].size(); ++h) {
      for (std::size_t i = 0; i < scores[b][h].size(); ++i) {
        for (std::size_t j = 0; j < scores[b][h][i].size(); ++j) {
          const auto& key = p.key[b][static_cast<std::size_t>(r.kv_head_of[h])][j];
          long double score = 0;
          for (std::size_t t = 0; t < key.size(); ++t) score += p.query[b][h][i][t] * key[t];
          score *= p.scale;
          if (mode >= 1 && p.softcap != 0) score = p.softcap * std::tanh(score / p.softcap);
          if (mode == 2 && !p.bias.empty()) score += p.bias[b][h][i][j];
          if (mode == 2 && !oracle::sees(r, b, h, i, j)) {
            score = -std::numeric_limits<long double>::infinity();
          }
          scores[b][h][i][j] = score;
        }
      }
    }
  }
  return flat(scores);
}

/// lse [B, Hq, T] from the biased scores.
inline std::vector<double> recorded_lse(const oracle::RealProblem& p) {
  const std::vector<double> scores = recorded_scores(p, 2);
  const auto keys = static_cast<std::size_t>(p.rules.keys);
  const auto rows = static_cast<std::size_t>(p.rules.queries);
  std::vector<double> lse;
  for (std::size_t first = 0; first < scores.size(); first += keys) {
    long double sum = 0;
    for (std::size_t j = 0; j < keys; ++j) {
      sum += std::exp(static_cast<long double>(scores[first + j]));
    }
    const std::size_t head = first / keys / rows % static_cast<std::size_t>(p.rules.q_heads);
    if (!p.sink.empty()) sum += std::exp(p.sink[head]);
    lse.push_back(static_cast<double>(std::log(sum)));
  }
  return lse;
}

}  // namespace gqa::test
