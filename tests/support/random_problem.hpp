// Random exact problems, and the oracle's problems in the library's terms.
#pragma once

#include <cmath>
#include <type_traits>
#include <vector>

#include "gqa/attention/attention.hpp"
#include "oracle/naive_attention.hpp"
#include "support/random.hpp"

namespace gqa::test {

inline oracle::Logarithm random_logarithm(Random& random) {
  const auto exponent = [&random] { return static_cast<int>(random.integer(-2, 2)); };
  return {exponent(), exponent(), random.one_in(3) ? exponent() : 0};
}

/// Any sizes, head map, mask, window, lengths, past; causal or not.
inline oracle::Rules random_rules(Random& random) {
  const auto size = [&random](int low, int high) {
    return static_cast<int>(random.integer(low, high));
  };
  oracle::Rules r;
  r.batch = size(1, 2);
  r.kv_heads = size(1, 3);
  r.q_heads = r.kv_heads * size(1, 3);
  r.queries = size(1, 5);
  r.keys = size(1, 7);
  r.key_size = size(1, 3);
  r.value_size = size(1, 3);
  r.causal = random.one_in(2);
  r.alignment = random.pick(
      {oracle::Alignment::top_left, oracle::Alignment::bottom_right, oracle::Alignment::onnx});
  if (random.one_in(3)) r.left = size(0, 3);
  if (random.one_in(3)) r.right = size(0, 3);
  const std::int64_t map = random.integer(0, 2);
  for (int h = 0; h < r.q_heads; ++h) {
    if (map == 0) r.kv_head_of.push_back(h / (r.q_heads / r.kv_heads));
    if (map == 1) r.kv_head_of.push_back(h % r.kv_heads);
    if (map == 2) r.kv_head_of.push_back(size(0, r.kv_heads - 1));
  }
  if (random.one_in(3)) {
    for (int b = 0; b < r.batch; ++b) r.lengths.push_back(size(0, r.keys));
  }
  if (random.one_in(2)) {
    r.mask = oracle::array4<char>(r.batch, r.q_heads, r.queries, r.keys, 1);
    for (auto& heads : r.mask) {
      for (auto& rows : heads) {
        for (auto& row : rows) {
          for (char& allowed : row) allowed = random.one_in(4) ? 0 : 1;
        }
      }
    }
  }
  return r;
}

template <class T, class Make>
oracle::Array4<T> random_array(int a, int b, int c, int d, Make make) {
  auto result = oracle::array4<T>(a, b, c, d, T());
  for (auto& x : result) {
    for (auto& y : x) {
      for (auto& z : y) {
        for (T& element : z) element = make();
      }
    }
  }
  return result;
}

/// Queries and keys or strengths; bias, shift and sink now and then.
inline oracle::ExactProblem random_exact_problem(Random& random) {
  oracle::ExactProblem p;
  p.rules = random_rules(random);
  const oracle::Rules& r = p.rules;
  const auto logarithm = [&random] { return random_logarithm(random); };
  p.value = random_array<oracle::Exact>(r.batch, r.kv_heads, r.keys, r.value_size,
                                        [&] { return to_boost(random.small_rational()); });
  if (random.one_in(3)) {
    p.strengths = random_array<oracle::Exact>(r.batch, r.q_heads, r.queries, r.keys, [&] {
      return to_boost(Rational(abs(random.small_rational()) + make_rational(1, 8)));
    });
  }
  p.query = random_array<oracle::Logarithm>(r.batch, r.q_heads, r.queries, r.key_size, logarithm);
  p.key = random_array<int>(r.batch, r.kv_heads, r.keys, r.key_size,
                            [&] { return static_cast<int>(random.integer(-2, 2)); });
  if (random.one_in(3)) {
    p.bias = random_array<oracle::Logarithm>(r.batch, r.q_heads, r.queries, r.keys, logarithm);
  }
  if (random.one_in(3)) {
    p.shift = random_array<oracle::Logarithm>(1, r.batch, r.q_heads, r.queries, logarithm)[0];
  }
  if (random.one_in(3)) {
    for (int h = 0; h < r.q_heads; ++h) p.sink.push_back(random_logarithm(random));
  }
  return p;
}

/// One element in the number type To: from the oracle's logarithm, rational or integer.
template <class To>
To convert(const oracle::Logarithm& x) {
  To sum(0);
  const int primes[] = {2, 3, 5};
  for (std::size_t i = 0; i < 3; ++i) {
    using std::log;
    sum += To(To(x[i]) * To(log(To(primes[i]))));
  }
  return sum;
}
template <class R>
BasicLogRational<R> convert_logarithm(const oracle::Logarithm& x) {
  BasicLogRational<R> sum;
  const int primes[] = {2, 3, 5};
  for (std::size_t i = 0; i < 3; ++i) {
    sum += BasicLogRational<R>::log_of(Rational(primes[i])) * R(x[i]);
  }
  return sum;
}
template <>
inline LogRational convert<LogRational>(const oracle::Logarithm& x) {
  return convert_logarithm<Rational>(x);
}
template <>
inline BoostLogRational convert<BoostLogRational>(const oracle::Logarithm& x) {
  return convert_logarithm<BoostRational>(x);
}
template <class To>
To convert(const oracle::Exact& x) {
  if constexpr (std::is_same_v<To, oracle::Exact>) {
    return x;
  } else if constexpr (std::is_same_v<To, Rational>) {
    return from_boost(x);
  } else if constexpr (std::is_same_v<To, Ball>) {
    return Ball(from_boost(x));
  } else {
    return To(To(numerator(x)) / To(denominator(x)));
  }
}
template <class To>
To convert(char x) {
  return To(x);
}
template <class To>
To convert(int x) {
  return To(x);
}

template <class To, class From>
Tensor<To> to_tensor(const oracle::Array4<From>& from) {
  std::vector<To> data;
  for (const auto& x : from) {
    for (const auto& y : x) {
      for (const auto& z : y) {
        for (const From& element : z) data.push_back(convert<To>(element));
      }
    }
  }
  const auto extent = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  return Tensor<To>({extent(from.size()), extent(from[0].size()), extent(from[0][0].size()),
                     extent(from[0][0][0].size())},
                    std::move(data));
}

inline Contract to_contract(const oracle::Rules& r) {
  Contract contract;
  contract.head_map.kind = HeadMapKind::explicit_list;
  contract.head_map.list.assign(r.kv_head_of.begin(), r.kv_head_of.end());
  contract.causal = r.causal;
  contract.causal_alignment =
      r.alignment == oracle::Alignment::top_left
          ? CausalAlignment::top_left
          : (r.alignment == oracle::Alignment::onnx ? CausalAlignment::onnx
                                                    : CausalAlignment::bottom_right);
  contract.window = {r.left, r.right};
  return contract;
}

/// The same problem for number system N. Stipulated strengths exist in exact systems only.
template <class N>
Problem<N> to_problem(const oracle::ExactProblem& p) {
  using Score = typename N::Score;
  const oracle::Rules& r = p.rules;
  Problem<N> problem;
  problem.contract = to_contract(r);
  problem.query = to_tensor<typename N::Query>(p.query);
  problem.key = to_tensor<typename N::Key>(p.key);
  problem.value = to_tensor<typename N::Value>(p.value);
  if (!p.strengths.empty()) problem.strengths = to_tensor<typename N::Strength>(p.strengths);
  if (!p.bias.empty()) problem.bias = to_tensor<Score>(p.bias);
  if (!p.shift.empty()) {
    Tensor<Score> shift = to_tensor<Score>(oracle::Array4<oracle::Logarithm>{p.shift});
    problem.score_shift = Tensor<Score>({r.batch, r.q_heads, r.queries, 1}, shift.data());
  }
  if (!p.sink.empty()) {
    problem.sink.emplace();
    for (const auto& sink : p.sink) problem.sink->push_back(convert<Score>(sink));
  }
  if (!r.lengths.empty()) problem.lengths.emplace(r.lengths.begin(), r.lengths.end());
  if (!r.mask.empty()) problem.mask = to_tensor<char>(r.mask);
  return problem;
}

}  // namespace gqa::test
