#include "gqa/diagnose/probes/generated_problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "gqa/attention/encoded_tensor.hpp"
#include "gqa/num/split_mix.hpp"

namespace gqa {
namespace {

// What problems are drawn from.
class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(n)));
  }
  bool coin() { return below(2) == 0; }
  double uniform() { return static_cast<double>(random_.next() >> 11) * 0x1p-53; }
  // The sum of twelve uniform numbers: variance one, and no libm that differs between machines.
  double normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += uniform();
    return sum;
  }

 private:
  SplitMix64 random_;
};

struct ProblemSizes {
  std::int64_t batch, q_heads, kv_heads, queries, keys, past, key_size, value_size;
};

double rounded(ElementType type, double value) {
  const FloatFormat& format = *float_format(type);
  return decode(format, round_to_nearest_even(format, Rational(value), Overflow::saturate));
}

class ProblemMaker {
 public:
  ProblemMaker(const KernelCapabilities& capabilities, ElementType type, std::uint64_t seed)
      : capabilities_(capabilities), type_(type), random_(seed) {}

  GeneratedProblem make(std::int64_t index) {
    GeneratedProblem problem;
    problem.name = fmt::format("problem {}", index);
    const ProblemSizes sizes = choose_sizes(index);
    fill_operands(problem, sizes);
    choose_rules(problem, sizes);
    return problem;
  }

 private:
  std::shared_ptr<const TypedTensor> normal_tensor(Shape shape, double deviation = 1) {
    std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
    for (double& value : values) value = rounded(type_, deviation * random_.normal());
    return encoded_tensor(type_, std::move(shape), values);
  }

  std::int64_t limited(std::int64_t wanted, std::int64_t limit) const {
    return limit > 0 ? std::min(wanted, limit) : wanted;
  }

  ProblemSizes choose_sizes(std::int64_t index) {
    constexpr std::array<std::array<std::int64_t, 2>, 5> heads{
        {{8, 2}, {4, 4}, {6, 1}, {12, 3}, {2, 1}}};
    constexpr std::array<std::array<std::int64_t, 2>, 6> lengths{
        {{33, 33}, {1, 129}, {7, 70}, {64, 64}, {17, 130}, {1, 31}}};
    constexpr std::array<std::int64_t, 4> widths{16, 64, 40, 128};
    const auto& [q_heads, kv_heads] = heads[static_cast<std::size_t>(index) % heads.size()];
    const auto& [queries, keys] = lengths[static_cast<std::size_t>(index) % lengths.size()];
    ProblemSizes s{};
    s.batch = 1 + random_.below(2);
    s.q_heads = q_heads;
    s.kv_heads = kv_heads;
    s.queries = limited(queries, capabilities_.max_queries);
    s.keys = limited(keys, capabilities_.max_keys);
    s.key_size =
        limited(widths[static_cast<std::size_t>(random_.below(4))], capabilities_.max_key_size);
    s.value_size = s.key_size;
    if (capabilities_.has(GQA_FEATURE_VALUE_SIZE) && random_.coin()) {
      s.value_size = limited(24, capabilities_.max_value_size);
    }
    if (capabilities_.has(GQA_FEATURE_PAST) && s.queries < s.keys && random_.coin()) {
      s.past = s.keys - s.queries;
      s.keys = s.queries;
    }
    return s;
  }

  void fill_operands(GeneratedProblem& problem, const ProblemSizes& s) {
    ProblemTensors& tensors = problem.tensors;
    tensors.query = normal_tensor({s.batch, s.q_heads, s.queries, s.key_size});
    tensors.key = normal_tensor({s.batch, s.kv_heads, s.keys, s.key_size});
    tensors.value = normal_tensor({s.batch, s.kv_heads, s.keys, s.value_size});
    if (s.past == 0) return;
    tensors.past_key = normal_tensor({s.batch, s.kv_heads, s.past, s.key_size});
    tensors.past_value = normal_tensor({s.batch, s.kv_heads, s.past, s.value_size});
  }

  bool chosen(gqa_kernel_feature feature) { return capabilities_.has(feature) && random_.coin(); }

  void choose_rules(GeneratedProblem& problem, const ProblemSizes& s) {
    Contract& contract = problem.contract;
    const std::int64_t total = s.past + s.keys;
    contract.causal = chosen(GQA_FEATURE_CAUSAL);
    if (contract.causal && chosen(GQA_FEATURE_WINDOW)) {
      contract.window.left = 1 + random_.below(total);
    }
    if (chosen(GQA_FEATURE_SCALE)) contract.scale = Rational(1 + random_.below(8), 16);
    if (contract.scale) contract.scale->canonicalize();
    if (chosen(GQA_FEATURE_SOFTCAP)) contract.softcap = Rational(5 + random_.below(45));
    if (chosen(GQA_FEATURE_SINK)) problem.tensors.sink = normal_tensor({s.q_heads});
    if (chosen(GQA_FEATURE_MASK_BOOLEAN)) {
      add_boolean_mask(problem, s, total);
    } else if (chosen(GQA_FEATURE_MASK_FLOAT)) {
      problem.tensors.attn_mask = normal_tensor({s.queries, total});
    }
    if (chosen(GQA_FEATURE_LENGTHS) && s.past == 0) add_lengths(problem, s, total);
  }

  // Key 0 stays visible, so that few rows are empty.
  void add_boolean_mask(GeneratedProblem& problem, const ProblemSizes& s, std::int64_t total) {
    std::vector<char> mask;
    for (std::int64_t i = 0; i < s.queries * total; ++i) {
      mask.push_back(i % total == 0 || random_.below(4) != 0 ? 1 : 0);
    }
    problem.tensors.attn_mask = boolean_tensor({s.queries, total}, mask);
  }

  void add_lengths(GeneratedProblem& problem, const ProblemSizes& s, std::int64_t total) {
    std::vector<std::int64_t> lengths;
    for (std::int64_t b = 0; b < s.batch; ++b) {
      lengths.push_back(s.queries + random_.below(total - s.queries + 1));
    }
    problem.tensors.nonpad_kv_seqlen = integer_tensor({s.batch}, lengths);
  }

  const KernelCapabilities& capabilities_;
  ElementType type_;
  Generator random_;
};

}  // namespace

std::vector<GeneratedProblem> generated_problems(const KernelCapabilities& capabilities,
                                                 ElementType type, std::int64_t count,
                                                 std::uint64_t seed) {
  std::vector<GeneratedProblem> problems;
  ProblemMaker maker(capabilities, type, seed);
  for (std::int64_t i = 0; i < count; ++i) problems.push_back(maker.make(i));
  return problems;
}

}  // namespace gqa
