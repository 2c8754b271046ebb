// The healthy example kernels are right, as the certified audit has it.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "gqa/attention/packed.hpp"
#include "gqa/audit/model_choice.hpp"
#include "kernel/kernel_support.hpp"
#include "kernel/random_call.hpp"

using namespace gqa;
using test::load_kernel;
using test::normal_tensor;
using test::Random;
using test::random_call;
using test::RandomCall;

namespace {

constexpr std::array all_types{ElementType::binary64, ElementType::binary32, ElementType::binary16,
                               ElementType::bfloat16};

/// "pass", or the first other verdict on an output with its place; packed ones by document.
std::string verdict_on(ProblemTensors tensors, const Contract& contract,
                       const std::shared_ptr<const TypedTensor>& output) {
  tensors.output = output;
  for (const PackedDocument& document : cut_documents(tensors, contract)) {
    const AttentionProblem problem = make_problem(document.tensors, contract);
    const std::vector<OutputAudit> outputs =
        audit_with_candidates(problem, document.tensors, AuditOptions());
    const AuditResult& result = outputs.front().result;
    if (result.verdict == Verdict::pass) continue;
    return fmt::format("{} in document {} under {}: {}", name(result.verdict), document.index,
                       describe(outputs.front().tolerance), result.where);
  }
  return "pass";
}

void check_call(KernelHost& host, const RandomCall& call) {
  CAPTURE(host.capabilities().name);
  CAPTURE(name(call.type));
  CAPTURE(name(call.contract.layout));
  CAPTURE(describe(call.contract));
  const KernelRun run = host.run(call.tensors, call.contract, call.type, call.options);
  INFO(describe(run));
  REQUIRE(run.is_clean());
  CHECK(verdict_on(call.tensors, call.contract, run.output) == "pass");
}

}  // namespace

TEST_CASE("kernels: plain, online and faultless outputs pass the audit on random problems") {
  for (const char* kernel : {"plain", "online", "faulty"}) {
    KernelHost host = load_kernel(kernel);
    for (const std::uint64_t seed : test::seeds(60)) {
      CAPTURE(seed);
      Random random(seed);
      check_call(host, random_call(random, all_types[seed % all_types.size()]));
    }
  }
}

TEST_CASE("kernels: plain, online and faultless outputs pass the audit on packed documents") {
  for (const char* kernel : {"plain", "online", "faulty"}) {
    KernelHost host = load_kernel(kernel);
    for (const std::uint64_t seed : test::seeds(30)) {
      CAPTURE(seed);
      Random random(seed);
      check_call(host, test::random_packed_call(random, all_types[seed % all_types.size()]));
    }
  }
}

TEST_CASE("kernels: outputs are rounded to the nearest number of their type, ties to even") {
  KernelHost host = load_kernel("plain");
  for (const std::uint64_t seed : test::seeds(40)) {
    CAPTURE(seed);
    Random random(seed);
    std::vector<double> values;
    for (int c = 0; c < 64; ++c) {
      // Up to 12 significant bits are ties in every narrow type now and then; all exponents.
      const double significand = static_cast<double>(random.integer(-4095, 4095));
      values.push_back(std::ldexp(significand, static_cast<int>(random.integer(-30, 10))));
    }
    ProblemTensors t = test::mean_problem();
    t.key = test::tensor_of(ElementType::binary32, {1, 1, 1, 1}, {1});
    t.value = test::tensor_of(ElementType::binary32, {1, 1, 1, 64}, values);
    for (const ElementType type : {ElementType::binary16, ElementType::bfloat16,
                                   ElementType::float8_e4m3fn, ElementType::float8_e5m2}) {
      CAPTURE(name(type));
      const KernelRun run = host.run(t, Contract(), type);
      REQUIRE(run.output != nullptr);
      for (std::size_t c = 0; c < values.size(); ++c) {
        CAPTURE(values[c]);
        const std::uint64_t expected =
            round_to_nearest_even(*float_format(type), Rational(values[c]));
        const double decoded = decode(*float_format(type), expected);
        if (std::isnan(decoded)) {
          CHECK(std::isnan(decode(*float_format(type), run.output->bits(c))));
        } else {
          // The sum 0 + -0 has lost its sign.
          CHECK(decode(*float_format(type), run.output->bits(c)) == decoded);
        }
      }
    }
  }
}

TEST_CASE("kernels: no kernel reads a key or a value that it does not see") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const char* kernel : {"plain", "online", "faulty"}) {
    CAPTURE(kernel);
    KernelHost host = load_kernel(kernel);
    ProblemTensors t = test::mean_problem();
    t.key = test::tensor_of(ElementType::binary32, {1, 1, 2, 1}, {1, nan});
    t.value = test::tensor_of(ElementType::binary32, {1, 1, 2, 1}, {3, nan});
    t.nonpad_kv_seqlen = test::tensor_of_bits(ElementType::int64, {1}, {1});
    CHECK(test::output_of(host.run(t, Contract(), ElementType::binary32))[0] == 3);
  }
}

TEST_CASE("kernels: the audit sees a window that is one key too wide, in every type") {
  KernelHost host = load_kernel("faulty");
  for (const ElementType type : all_types) {
    CAPTURE(name(type));
    Random random(1);
    ProblemTensors t;
    t.query = normal_tensor(random, type, {1, 2, 8, 4});
    t.key = normal_tensor(random, type, {1, 1, 8, 4});
    t.value = normal_tensor(random, type, {1, 1, 8, 4});
    Contract contract;
    contract.causal = true;
    contract.window.left = 2;
    host.configure("");
    CHECK(verdict_on(t, contract, host.run(t, contract, type).output) == "pass");
    host.configure("window.one_wide");
    CHECK(verdict_on(t, contract, host.run(t, contract, type).output).starts_with("fail"));
  }
}
