// Kernels that take one kind of problem only are probed as they take it, and their faults are
// named.
#include "gqa/diagnose/probes/habits.hpp"

#include <doctest/doctest.h>

#include "diagnose/planted_faults.hpp"
#include "gqa/diagnose/probes/identify.hpp"
#include "gqa/diagnose/probes/probe_list.hpp"

using namespace gqa;
using namespace gqa::test;

namespace {

using Habit = bool (*)(const Probe&);

bool is_causal(const Probe& probe) {
  return probe.contract.causal;
}
bool is_decode(const Probe& probe) {
  return probe.contract.layout == Layout::bhsd && probe.tensors.query->shape[2] == 1;
}

// The faulty kernel, which refuses what is not its habit.
ProbeReport probed(const std::string& fault, Habit takes) {
  KernelHost host = load_example_kernel("faulty");
  if (!fault.empty()) host.configure(fault);
  const ProbeRunner runner = kernel_runner(host, ElementType::binary32);
  return run_probes(
      [&](const Probe& probe) {
        if (takes(probe)) return runner(probe);
        ProbeAnswer refused;
        refused.supported = false;
        return refused;
      },
      ElementType::binary32);
}

bool names(const Diagnosis& diagnosis, const std::string& fault) {
  return std::ranges::any_of(diagnosis.explanations, [&fault](const Explanation& explanation) {
    return slugs_of(explanation) == fault;
  });
}

}  // namespace

TEST_CASE("habits: adapted probes say what was changed, and change nothing else") {
  for (const Probe& probe : probes(ElementType::binary32)) {
    CAPTURE(probe.name);
    for (const Probe& adapted : adapted_probes(probe)) {
      CAPTURE(adapted.habit);
      CHECK(adapted.name == probe.name);
      CHECK(!adapted.habit.empty());
      const bool causal = adapted.habit.find("causal") != std::string::npos;
      const bool last = adapted.habit.find("last row") != std::string::npos;
      const bool numbers = adapted.habit.find("numbers") != std::string::npos;
      CHECK(causal == (adapted.contract.causal && !probe.contract.causal));
      CHECK(last == (adapted.tensors.query->shape != probe.tensors.query->shape));
      CHECK(numbers == (adapted.tensors.attn_mask && probe.tensors.attn_mask &&
                        adapted.tensors.attn_mask->type != probe.tensors.attn_mask->type));
      CHECK(adapted.tensors.key == probe.tensors.key);
    }
  }
}

TEST_CASE("habits: an always causal kernel and a decode kernel show every rule that they can") {
  // 6 and 9 probes took neither kind without adaptation.
  for (const Habit habit : {&is_causal, &is_decode}) {
    const ProbeReport healthy = probed("", habit);
    CAPTURE(healthy.unsupported());
    CHECK(healthy.results.size() - static_cast<std::size_t>(healthy.unsupported()) >= 30);
    CHECK(healthy.count(Verdict::fail) == 0);
    CHECK(healthy.diagnosis.status == DiagnosisStatus::none);
    for (const char* fault : {"scale.twice", "softcap.missing", "head_map.tiled", "window.one_wide",
                              "sink.dropped", "length.capacity"}) {
      CAPTURE(fault);
      const ProbeReport report = probed(fault, habit);
      CAPTURE(named_by(report.diagnosis));
      CHECK(names(report.diagnosis, fault));
    }
  }
}

TEST_CASE("habits: nothing is said of rows without a key where no such row was asked") {
  // ONNX Runtime's GroupQueryAttention takes no more queries than keys: T = 5, S = 3 is put to it
  // as the last row alone, which sees all three keys. Their mean is right there, and was told as
  // what rows without a key hold.
  for (const Habit habit : {&is_causal, &is_decode}) {
    for (const IdentifiedRule& rule : identify(probed("", habit))) {
      CAPTURE(rule.rule);
      CAPTURE(rule.found);
      CHECK(rule.agreement != Agreement::differs);
      if (rule.rule != "rows without a key") continue;
      const bool asked = habit == &is_causal;
      CHECK(rule.agreement == (asked ? Agreement::agrees : Agreement::undetermined));
    }
  }
}
