// Every switch of the faulty kernel turns the right output of its hand-made case into the wrong
// one.
//
// Not switches, because they are no wrong values of one call: heads that do not divide (refused),
// value scales (no part of the contract), wrong weights or shards, and wrong byte counts.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <map>
#include <regex>
#include <set>

#include "kernel/fault_cases.hpp"
#include "kernel/kernel_support.hpp"
#include "kernel/random_call.hpp"

using namespace gqa;
using test::FaultCase;
using test::FaultInput;
using test::tensor_of_bits;

namespace {

struct TypeAndTolerance {
  ElementType type;
  double tolerance;  ///< of outputs in [0, 10]: rounding of inputs such as ln 2, and of the output
};
constexpr std::array types{
    TypeAndTolerance{ElementType::binary64, 1e-12}, TypeAndTolerance{ElementType::binary32, 2e-6},
    TypeAndTolerance{ElementType::binary16, 4e-3}, TypeAndTolerance{ElementType::bfloat16, 2e-2}};

std::vector<FaultCase> all_cases() {
  std::vector<FaultCase> all;
  for (const auto& cases :
       {test::head_map_cases(), test::causal_and_window_cases(), test::mask_and_length_cases(),
        test::score_cases(), test::softmax_cases(), test::merge_and_sink_cases(),
        test::layout_cases()}) {
    all.insert(all.end(), cases.begin(), cases.end());
  }
  return all;
}

std::shared_ptr<TypedTensor> rounded(ElementType type, Shape shape,
                                     const std::vector<double>& values) {
  const FloatFormat& format = *float_format(type);
  std::vector<std::uint64_t> bits;
  for (const double value : values) {
    bits.push_back(std::isnan(value) ? encode_exact(format, value).value()
                                     : round_to_nearest_even(format, Rational(value)));
  }
  if (values.empty()) bits.assign(static_cast<std::size_t>(element_count(shape)), 0);
  return tensor_of_bits(type, std::move(shape), bits);
}

Shape operand_shape(const FaultInput& in, std::int64_t heads, std::int64_t rows,
                    std::int64_t width) {
  switch (in.layout) {
    case Layout::bshd:
      return {in.batch, rows, heads, width};
    case Layout::bsh:
      return {in.batch, rows, heads * width};
    case Layout::thd:
      return {rows, heads, width};
    default:
      return {in.batch, heads, rows, width};
  }
}

ProblemTensors tensors_of(const FaultInput& in, ElementType type) {
  ProblemTensors t;
  t.query = rounded(type, operand_shape(in, in.q_heads, in.queries, in.key_size), in.query);
  t.key = rounded(type, operand_shape(in, in.kv_heads, in.keys, in.key_size), in.key);
  t.value = rounded(type, operand_shape(in, in.kv_heads, in.keys, in.value_size), in.value);
  if (in.past > 0) {
    t.past_key = rounded(type, {in.batch, in.kv_heads, in.past, in.key_size}, {});
    t.past_value = rounded(type, {in.batch, in.kv_heads, in.past, in.value_size}, in.past_value);
  }
  if (!in.mask.empty()) t.attn_mask = tensor_of_bits(ElementType::boolean, in.mask_shape, in.mask);
  const auto integers = [](const std::vector<std::uint64_t>& values) {
    return tensor_of_bits(ElementType::int64, {static_cast<std::int64_t>(values.size())}, values);
  };
  if (!in.lengths.empty()) t.nonpad_kv_seqlen = integers(in.lengths);
  if (!in.documents.empty()) t.cu_seqlens_q = integers(in.documents);
  if (!in.sink.empty()) t.sink = rounded(type, {in.q_heads}, in.sink);
  if (!in.slopes.empty()) t.alibi_slopes = rounded(type, {in.q_heads}, in.slopes);
  return t;
}

Contract contract_of(const FaultInput& in) {
  Contract c;
  c.layout = in.layout;
  c.q_num_heads = in.q_heads;
  c.kv_num_heads = in.kv_heads;
  c.causal = in.causal;
  c.causal_alignment = in.alignment;
  c.window = in.window;
  c.scale = in.scale;
  c.softcap = in.softcap;
  return c;
}

/// "" if the first elements of `found` are `expected` within the tolerance; NaN is only NaN.
std::string difference(const std::vector<double>& found, const std::vector<double>& expected,
                       double tolerance) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const bool alike = std::isnan(expected[i]) ? std::isnan(found[i])
                                               : std::abs(found[i] - expected[i]) <= tolerance;
    if (alike) continue;
    return fmt::format("element {} is {}, not {}", i, found[i], expected[i]);
  }
  return "";
}

std::set<std::string> slugs_of_kernel() {
  std::ifstream file(GQAVERIFY_SOURCE_DIR "/tests/kernels/faults.h");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::regex entry("X\\(\\w+, \"([a-z0-9_.]+)\"\\)");
  std::set<std::string> slugs;
  for (std::sregex_iterator i(text.begin(), text.end(), entry), end; i != end; ++i) {
    slugs.insert((*i)[1]);
  }
  return slugs;
}

}  // namespace

TEST_CASE("faults: every switch turns the right output of its case into the wrong one") {
  KernelHost host = test::load_kernel("faulty");
  for (const FaultCase& fault : all_cases()) {
    CAPTURE(fault.slug);
    for (const auto& [type, tolerance] : types) {
      CAPTURE(name(type));
      const ProblemTensors tensors = tensors_of(fault.input, type);
      const Contract contract = contract_of(fault.input);
      KernelCallOptions options;
      options.key_row_stride_factor = fault.input.key_row_stride_factor;
      const auto output = [&](const std::string& faults) {
        host.configure(faults);
        return test::output_of(host.run(tensors, contract, type, options));
      };
      CHECK(difference(output(""), fault.right, tolerance) == "");
      CHECK(difference(output(fault.slug), fault.wrong, tolerance) == "");
      CHECK(difference(fault.wrong, fault.right, 2 * tolerance) != "");
    }
  }
}

TEST_CASE("faults: the right kernels agree with the right outputs of all cases") {
  for (const char* kernel : {"plain", "online"}) {
    CAPTURE(kernel);
    KernelHost host = test::load_kernel(kernel);
    for (const FaultCase& fault : all_cases()) {
      CAPTURE(fault.slug);
      const KernelRun run = host.run(tensors_of(fault.input, ElementType::binary32),
                                     contract_of(fault.input), ElementType::binary32);
      CHECK(difference(test::output_of(run), fault.right, 2e-6) == "");
    }
  }
}

TEST_CASE("faults: every switch of the kernel has a case, and every case a switch") {
  std::set<std::string> covered;
  for (const FaultCase& fault : all_cases()) covered.insert(fault.slug);
  CHECK(covered == slugs_of_kernel());
  CHECK(covered.size() == 70);
}

TEST_CASE("faults: several at once act together") {
  KernelHost host = test::load_kernel("faulty");
  // Heads 0 and 1 see a window of one key more; head 1 reads KV head 1.
  FaultInput input{.q_heads = 4,
                   .kv_heads = 2,
                   .queries = 2,
                   .keys = 2,
                   .value = {0, 2, 4, 6},
                   .causal = true,
                   .window = {0, -1}};
  const ProblemTensors tensors = tensors_of(input, ElementType::binary32);
  host.configure("window.one_wide,head_map.tiled");
  const KernelRun run = host.run(tensors, contract_of(input), ElementType::binary32);
  CHECK(test::output_of(run) == std::vector<double>{0, 1, 4, 5, 0, 1, 4, 5});
}

TEST_CASE("faults: whatever is switched on together, the kernel stays inside its memory") {
  KernelHost host = test::load_kernel("faulty");
  const std::set<std::string> known = slugs_of_kernel();
  const std::vector<std::string> slugs(known.begin(), known.end());
  for (const std::uint64_t seed : test::seeds(600)) {
    CAPTURE(seed);
    test::Random random(seed);
    const ElementType type = random.pick({ElementType::binary32, ElementType::bfloat16});
    const test::RandomCall call =
        random.one_in(4) ? test::random_packed_call(random, type) : test::random_call(random, type);
    std::string faults;
    for (std::int64_t n = random.integer(1, 4); n > 0; --n) {
      const auto last = static_cast<std::int64_t>(slugs.size()) - 1;
      faults += slugs[static_cast<std::size_t>(random.integer(0, last))] + (n > 1 ? "," : "");
    }
    CAPTURE(faults);
    host.configure(faults);
    const KernelRun run = host.run(call.tensors, call.contract, type, call.options);
    INFO(describe(run));
    CHECK(run.is_clean());
  }
}
