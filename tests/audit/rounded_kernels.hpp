// Attention in any precision, each step rounded as a precision model says, healthy or with
// one fault.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "gqa/attention/attention_problem.hpp"
#include "gqa/audit/models/precision_model.hpp"
#include "support/random.hpp"
#include "support/typed.hpp"

namespace gqa::test {

/// Rounds to nearest, ties to even, in the format; fast. An operation on numbers of a format
/// of at most 25 bits, done in binary64 and rounded by this, is rounded correctly (Figueroa
/// 1995: 53 >= 2 p + 2).
inline double rounded(const FloatFormat& format, double x) {
  if (format.precision == 53 || x == 0 || !std::isfinite(x)) return x;
  const auto biased = static_cast<int>((std::bit_cast<std::uint64_t>(x) >> 52) & 0x7ff);
  const int spacing = std::max(biased - 1023, format.minimum_exponent) - (format.precision - 1);
  // At 1.5 * 2^(52 + spacing) the spacing of binary64 is 2^spacing. No format reaches the ends
  // of binary64's exponents: 2^(52 + spacing) is normal.
  const double anchor =
      1.5 * std::bit_cast<double>(static_cast<std::uint64_t>(52 + spacing + 1023) << 52);
  const double result = std::copysign((x + anchor) - anchor, x);
  if (std::abs(result) <= format.maximum()) return result;
  return std::copysign(std::numeric_limits<double>::infinity(), x);
}

/// The formats of the steps of a kernel, as of its model.
struct KernelFormats {
  const PrecisionModel* model = nullptr;
  ElementType storage = ElementType::binary32;  ///< of operands and output
  const FloatFormat* inner = nullptr;
  bool scores_stored = false;
  const FloatFormat& stored() const { return *float_format(storage); }
};

inline std::vector<KernelFormats> kernels_of_all_models() {
  return {{&f64_model, ElementType::binary64, &binary64, false},
          {&f32_model, ElementType::binary32, &binary32, false},
          {&f16_f32_model, ElementType::binary16, &binary32, false},
          {&bf16_f32_model, ElementType::bfloat16, &binary32, false},
          {&f16_model, ElementType::binary16, &binary16, true},
          {&bf16_model, ElementType::bfloat16, &bfloat16, true}};
}

/// One head of one batch entry, causal from the bottom right or not.
struct RoundedOperands {
  std::int64_t queries = 1, keys = 1, key_size = 1, value_size = 1;
  bool causal = false;
  std::vector<double> query, key, value;
  std::optional<double> sink;
};

/// How a healthy kernel goes about it.
enum class Way {
  one_pass,    ///< maximum, then strictly sequential sums
  tiles,       ///< online softmax, tiles of 32, each summed on its own
  single_key,  ///< online softmax, one key at a time
  normalised,  ///< softmax divided and stored, then the second product
  split,       ///< four parts, merged by their log-sum-exp
};
inline constexpr Way all_ways[] = {Way::one_pass, Way::tiles, Way::single_key, Way::normalised,
                                   Way::split};

/// Besides rounding, in place of it: every inner step errs by its whole unit roundoff, up or
/// down, in the other direction for every second key.
enum class Errors { rounded, up, down };

struct RoundedFault {
  std::optional<std::int64_t> missing_key;
  bool drop_sink = false;
};

class RoundedKernel {
 public:
  RoundedKernel(const RoundedOperands& operands, const KernelFormats& formats, Way way,
                RoundedFault fault = {}, Errors errors = Errors::rounded)
      : o_(operands), f_(formats), way_(way), fault_(fault), errors_(errors) {}

  std::vector<double> run() const {
    std::vector<double> output;
    for (std::int64_t i = 0; i < o_.queries; ++i) {
      for (const double x : attend(i)) output.push_back(rounded(f_.stored(), x));
    }
    return output;
  }

 private:
  // Sums relative to exp(largest).
  struct State {
    double largest = -std::numeric_limits<double>::infinity();
    double total = 0;
    std::vector<double> sums;
  };
  using Keys = std::vector<std::size_t>;

  double in(double x) const {
    if (errors_ == Errors::rounded) return rounded(*f_.inner, x);
    const double sign = (errors_ == Errors::up) == key_is_even_ ? 1 : -1;
    return x * (1 + sign * f_.inner->unit_roundoff());
  }
  double in_exp(double x) const { return in(std::exp(x)); }
  double weight(double x) const { return rounded(f_.stored(), x); }
  double value(std::size_t j, std::size_t c) const {
    return o_.value[j * static_cast<std::size_t>(o_.value_size) + c];
  }

  Keys keys_of(std::int64_t i) const {
    Keys keys;
    for (std::int64_t j = 0; j < o_.keys; ++j) {
      if (o_.causal && j > i + o_.keys - o_.queries) continue;
      if (fault_.missing_key != j) keys.push_back(static_cast<std::size_t>(j));
    }
    return keys;
  }

  double score(std::int64_t i, std::size_t j) const {
    const auto size = static_cast<std::size_t>(o_.key_size);
    key_is_even_ = j % 2 == 0;
    const double scale = in(1 / in(std::sqrt(static_cast<double>(o_.key_size))));
    double sum = 0;
    for (std::size_t t = 0; t < size; ++t) {
      const double q = o_.query[static_cast<std::size_t>(i) * size + t];
      sum = in(sum + in(q * o_.key[j * size + t]));
    }
    const double result = in(sum * scale);
    return f_.scores_stored ? rounded(f_.stored(), result) : result;
  }

  // One tile of an online softmax; its own sums first where there are many keys.
  void add_tile(std::int64_t i, std::span<const std::size_t> keys, State& state) const {
    std::vector<double> scores;
    double largest = state.largest;
    for (const std::size_t j : keys) {
      scores.push_back(score(i, j));
      largest = std::max(largest, scores.back());
    }
    const double rescale = state.total == 0 ? 0 : in_exp(in(state.largest - largest));
    State tile{largest, 0, std::vector<double>(state.sums.size())};
    for (std::size_t k = 0; k < keys.size(); ++k) {
      key_is_even_ = keys[k] % 2 == 0;
      const double p = in_exp(in(scores[k] - largest));
      tile.total = in(tile.total + p);
      for (std::size_t c = 0; c < tile.sums.size(); ++c) {
        tile.sums[c] = in(tile.sums[c] + in(weight(p) * value(keys[k], c)));
      }
    }
    merge(state, rescale, tile, 1);
    state.largest = largest;
  }

  void merge(State& to, double rescale, const State& from, double factor) const {
    to.total = in(in(to.total * rescale) + in(from.total * factor));
    for (std::size_t c = 0; c < to.sums.size(); ++c) {
      to.sums[c] = in(in(to.sums[c] * rescale) + in(from.sums[c] * factor));
    }
  }

  State start(bool with_sink) const {
    State state;
    state.sums.assign(static_cast<std::size_t>(o_.value_size), 0.0);
    if (with_sink && o_.sink && !fault_.drop_sink) {
      state.largest = *o_.sink;
      state.total = 1;
    }
    return state;
  }

  State tiled(std::int64_t i, std::span<const std::size_t> keys, bool with_sink) const {
    State state = start(with_sink);
    std::size_t tile = keys.size();
    if (way_ == Way::tiles || way_ == Way::split) tile = 32;
    if (way_ == Way::single_key) tile = 1;
    for (std::size_t begin = 0; begin < keys.size(); begin += tile) {
      add_tile(i, keys.subspan(begin, std::min(tile, keys.size() - begin)), state);
    }
    return state;
  }

  std::vector<double> quotient(const State& state) const {
    std::vector<double> output;
    for (const double sum : state.sums)
      output.push_back(state.total == 0 ? 0 : in(sum / state.total));
    return output;
  }

  std::vector<double> normalised(std::int64_t i, const Keys& keys) const {
    State state = start(true);
    std::vector<double> numerators;
    for (const std::size_t j : keys) numerators.push_back(score(i, j));
    const double sink = state.largest;
    for (const double s : numerators) state.largest = std::max(state.largest, s);
    if (state.total != 0) state.total = in_exp(in(sink - state.largest));
    for (double& s : numerators) {
      s = in_exp(in(s - state.largest));
      state.total = in(state.total + s);
    }
    for (std::size_t k = 0; k < keys.size(); ++k) {
      const double w = weight(in(numerators[k] / state.total));
      for (std::size_t c = 0; c < state.sums.size(); ++c) {
        state.sums[c] = in(state.sums[c] + in(w * value(keys[k], c)));
      }
    }
    return state.sums;
  }

  // Every part gives its output and its log-sum-exp, and those are averaged.
  std::vector<double> split(std::int64_t i, const Keys& keys) const {
    const std::span<const std::size_t> all(keys);
    const std::size_t part = (keys.size() + 3) / 4;
    State merged = start(false);
    for (std::size_t begin = 0; begin < keys.size(); begin += part) {
      const State state =
          tiled(i, all.subspan(begin, std::min(part, keys.size() - begin)), begin == 0);
      const double lse = in(state.largest + in(std::log(state.total)));
      const double largest = std::max(merged.largest, lse);
      const double rescale = merged.total == 0 ? 0 : in_exp(in(merged.largest - largest));
      merge(merged, rescale, {lse, 1, quotient(state)}, in_exp(in(lse - largest)));
      merged.largest = largest;
    }
    return quotient(merged);
  }

  std::vector<double> attend(std::int64_t i) const {
    const Keys keys = keys_of(i);
    if (way_ == Way::normalised) return normalised(i, keys);
    if (way_ == Way::split && !keys.empty()) return split(i, keys);
    return quotient(tiled(i, keys, true));
  }

  const RoundedOperands& o_;
  const KernelFormats& f_;
  Way way_;
  RoundedFault fault_;
  Errors errors_;
  mutable bool key_is_even_ = true;  // of the key that is worked on
};

inline AttentionProblem to_problem(const RoundedOperands& o, const KernelFormats& formats,
                                   const std::vector<double>& output) {
  ProblemTensors tensors;
  const ElementType type = formats.storage;
  tensors.query = tensor_of(type, {1, 1, o.queries, o.key_size}, o.query);
  tensors.key = tensor_of(type, {1, 1, o.keys, o.key_size}, o.key);
  tensors.value = tensor_of(type, {1, 1, o.keys, o.value_size}, o.value);
  tensors.output = tensor_of(type, {1, 1, o.queries, o.value_size}, output);
  if (o.sink) tensors.sink = tensor_of(type, {1}, {*o.sink});
  Contract contract;
  contract.causal = o.causal;
  return make_problem(tensors, contract);
}

}  // namespace gqa::test
