// A binary32 kernel that is wrong in one place only, written down by plain loops: nothing of the
// library computes what it writes.
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "gqa/attention/attention_problem.hpp"
#include "gqa/diagnose/cases/audit_case.hpp"
#include "kernel/random_call.hpp"
#include "support/random.hpp"

namespace gqa::test {

struct LocalSizes {
  std::int64_t batch = 2, q_heads = 4, kv_heads = 2, queries = 128, keys = 128, size = 16;
};

/// What one row does. As made: the bottom-right causal rule.
struct LocalRow {
  std::function<bool(std::int64_t j)> visible;
  std::function<double(std::int64_t j)> share = [](auto) { return 1.0; };  ///< of key j
  std::function<std::int64_t(std::int64_t j)> value_of = [](auto j) { return j; };
  std::int64_t kv_head = 0;
  float scale = 0;
  std::int64_t lost_tile = 0;  ///< an online softmax over such tiles that loses its rescaling
};

class LocalKernel {
 public:
  LocalKernel(const LocalSizes& sizes, ElementType type, std::uint64_t seed)
      : s(sizes), type_(type), random_(seed) {
    tensors.query = normal_tensor(random_, type, {s.batch, s.q_heads, s.queries, s.size});
    tensors.key = normal_tensor(random_, type, {s.batch, s.kv_heads, s.keys, s.size});
    tensors.value = normal_tensor(random_, type, {s.batch, s.kv_heads, s.keys, s.size});
    query_ = decode(*tensors.query).data();
    key_ = decode(*tensors.key).data();
    value_ = decode(*tensors.value).data();
    output = every_row([](auto, auto, auto, LocalRow&) {});
    contract.causal = true;
  }

  using Edit = std::function<void(std::int64_t b, std::int64_t h, std::int64_t i, LocalRow& row)>;

  /// All rows, each with an edit of its own.
  std::vector<float> every_row(const Edit& edit) const {
    std::vector<float> o(at(s.batch * s.q_heads * s.queries * s.size));
    for (std::int64_t b = 0; b < s.batch; ++b) {
      for (std::int64_t h = 0; h < s.q_heads; ++h) {
        for (std::int64_t i = 0; i < s.queries; ++i) {
          LocalRow row;
          const std::int64_t last = i + s.keys - s.queries;
          row.visible = [last](std::int64_t j) { return j <= last; };
          row.kv_head = h / (s.q_heads / s.kv_heads);
          row.scale = 1 / std::sqrt(static_cast<float>(s.size));
          edit(b, h, i, row);
          write(b, h, i, row, o.data() + place(b, h, i));
        }
      }
    }
    return o;
  }

  /// Element [b, h, i, 0] of an output.
  std::size_t place(std::int64_t b, std::int64_t h, std::int64_t i) const {
    return at(((b * s.q_heads + h) * s.queries + i) * s.size);
  }

  /// Audited and diagnosed as a recording with that output, under the tightest model of its type
  /// with sums in binary32: the kernel's own.
  AuditCase audited(const std::vector<float>& written) {
    std::vector<std::uint64_t> bits;
    const FloatFormat& format = *float_format(type_);
    for (const float x : written) {
      bits.push_back(std::isnan(x) ? encode_exact(format, x).value()
                                   : round_to_nearest_even(format, Rational(x)));
    }
    tensors.output = tensor_of_bits(type_, {s.batch, s.q_heads, s.queries, s.size}, bits);
    CaseOptions options;
    options.tolerance =
        ModelTolerance{type_ == ElementType::binary32 ? &f32_model : &bf16_f32_model};
    return audit_cases("local", tensors, contract, options).front();
  }

  LocalSizes s;
  ProblemTensors tensors;
  Contract contract;
  std::vector<float> output;  ///< the right one

 private:
  static std::size_t at(std::int64_t n) { return static_cast<std::size_t>(n); }

  float score(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j,
              const LocalRow& row) const {
    float sum = 0;
    for (std::int64_t d = 0; d < s.size; ++d) {
      const std::size_t q = place(b, h, i) + at(d);
      const std::size_t k = at(((b * s.kv_heads + row.kv_head) * s.keys + j) * s.size + d);
      sum += static_cast<float>(query_[q]) * static_cast<float>(key_[k]);
    }
    return sum * row.scale;
  }

  // One pass over tiles with a running maximum; a tile of all keys is the plain softmax.
  void write(std::int64_t b, std::int64_t h, std::int64_t i, const LocalRow& row, float* o) const {
    const std::int64_t tile = row.lost_tile > 0 ? row.lost_tile : s.keys;
    float maximum = -std::numeric_limits<float>::infinity(), total = 0;
    std::vector<float> sums(at(s.size), 0);
    for (std::int64_t first = 0; first < s.keys; first += tile) {
      std::vector<float> scores;
      float next = maximum;
      for (std::int64_t j = first; j < std::min(first + tile, s.keys); ++j) {
        scores.push_back(row.visible(j) ? score(b, h, i, j, row)
                                        : -std::numeric_limits<float>::infinity());
        next = std::max(next, scores.back());
      }
      if (std::isinf(next)) continue;
      const float factor = std::isinf(maximum) ? 0 : std::exp(maximum - next);
      total *= factor;
      for (float& sum : sums) sum *= row.lost_tile > 0 ? 1 : factor;
      maximum = next;
      for (std::int64_t j = first; j < std::min(first + tile, s.keys); ++j) {
        const float weight =
            std::exp(scores[at(j - first)] - maximum) * static_cast<float>(row.share(j));
        total += weight;
        const std::int64_t from = (b * s.kv_heads + row.kv_head) * s.keys + row.value_of(j);
        for (std::int64_t c = 0; c < s.size; ++c) {
          sums[at(c)] += weight * static_cast<float>(value_[at(from * s.size + c)]);
        }
      }
    }
    for (std::int64_t c = 0; c < s.size; ++c) o[c] = sums[at(c)] / total;
  }

  ElementType type_;
  Random random_;
  std::vector<double> query_, key_, value_;
};

}  // namespace gqa::test
