// Nothing is named where nothing is wrong.
#include <doctest/doctest.h>

#include "diagnose/planted_faults.hpp"
#include "gqa/attention/packed.hpp"
#include "gqa/audit/model_choice.hpp"
#include "gqa/diagnose/cases/recording_diagnosis.hpp"
#include "kernel/random_call.hpp"

using namespace gqa;
using test::Random;

namespace {

constexpr std::array accused_types{ElementType::binary64, ElementType::binary32,
                                   ElementType::binary16, ElementType::bfloat16};

/// What is said of a healthy kernel's output: "pass, none" if all is well.
std::string judged(KernelHost& host, test::RandomCall& call) {
  const KernelRun run = host.run(call.tensors, call.contract, call.type, call.options);
  if (!run.is_clean()) return describe(run);
  call.tensors.output = run.output;
  std::vector<OutputAudit> outputs;
  Tolerance tolerance;
  for (const PackedDocument& document : cut_documents(call.tensors, call.contract)) {
    const AttentionProblem problem = make_problem(document.tensors, call.contract);
    const std::vector<OutputAudit> found = audit_with_candidates(problem, document.tensors, {});
    tolerance = found.front().tolerance;
    outputs.insert(outputs.end(), found.begin(), found.end());
  }
  const Diagnosis diagnosis = diagnose_recording(call.tensors, call.contract, outputs, tolerance);
  std::string text = fmt::format("{}, {}", name(worst_verdict(outputs)), test::named_by(diagnosis));
  for (const std::string& line : diagnosis.measurements) text += "; " + line;
  return text;
}

template <class Make>
void check_healthy_kernels(std::uint64_t count, Make make) {
  for (const char* kernel : {"plain", "online", "faulty"}) {
    CAPTURE(kernel);
    KernelHost host = test::load_example_kernel(kernel);
    for (const std::uint64_t seed : test::seeds(count)) {
      CAPTURE(seed);
      Random random(seed);
      test::RandomCall call = make(random, accused_types[seed % accused_types.size()]);
      CAPTURE(name(call.type));
      CAPTURE(name(call.contract.layout));
      CAPTURE(describe(call.contract));
      CHECK(judged(host, call) == "pass, none");
    }
  }
}

}  // namespace

TEST_CASE("diagnosis: no healthy kernel is accused on random problems of every contract") {
  check_healthy_kernels(140, test::random_call);
}

TEST_CASE("diagnosis: no healthy kernel is accused on random packed documents") {
  check_healthy_kernels(50, test::random_packed_call);
}

TEST_CASE("probes: healthy kernels pass all of them, in every type, and nothing is named") {
  for (const char* kernel : {"plain", "online", "faulty"}) {
    CAPTURE(kernel);
    KernelHost host = test::load_example_kernel(kernel);
    for (const ElementType type : accused_types) {
      CAPTURE(name(type));
      const ProbeReport report = run_probes(kernel_runner(host, type), type);
      CHECK(report.count(Verdict::pass) == static_cast<std::int64_t>(report.results.size()));
      CHECK(report.unsupported() == 0);
      CHECK_FALSE(report.has_findings());
      CHECK(test::named_by(report.diagnosis) == "none");
    }
  }
}
