// What is read off a kernel's answers to the probes, rule by rule.
#include "gqa/diagnose/probes/identify.hpp"

#include <doctest/doctest.h>

#include "diagnose/planted_faults.hpp"
#include "gqa/diagnose/probes/probe_list.hpp"
#include "gqa/diagnose/probes/probe_reading.hpp"

using namespace gqa;

namespace {

const ProbeReport& report_on(const std::string& slug) {
  return test::reports_on_single_faults(ElementType::binary32).at(slug);
}

std::vector<std::string> rules_that(const ProbeReport& report, Agreement agreement) {
  std::vector<std::string> rules;
  for (const IdentifiedRule& rule : identify(report)) {
    if (rule.agreement == agreement) rules.push_back(rule.rule);
  }
  return rules;
}

IdentifiedRule rule_of(const ProbeReport& report, const std::string& wanted) {
  for (IdentifiedRule& rule : identify(report)) {
    if (rule.rule == wanted) return rule;
  }
  return {};
}

/// Of a fault: the rule that it breaks and what is found instead.
struct Sample {
  const char* slug;
  const char* rule;
  const char* found;
};

}  // namespace

TEST_CASE("identify: a healthy kernel agrees with every declared rule") {
  const ProbeReport& report = report_on("");
  const auto rules = identify(report);
  CHECK(rules.size() == 26);
  for (const IdentifiedRule& rule : rules) {
    CAPTURE(rule.rule);
    CAPTURE(rule.declared);
    CAPTURE(rule.found);
    CHECK(rule.agreement == Agreement::agrees);
  }
}

TEST_CASE("identify: what a faulty kernel does is found, not only that it differs") {
  // Found values follow from the wrong formula and the probe's sizes by hand: 1 / sqrt(8 * 4),
  // 1 / sqrt(8), 1 / sqrt(2), (1 / 2)^2; rows 0 to 2 of 7 keys from the top left; and so on.
  for (const Sample& sample :
       {Sample{"head_map.tiled", "head map of K", "tiled, h mod Hkv"},
        Sample{"head_map.tiled", "head map of V", "tiled, h mod Hkv"},
        Sample{"head_map.key_tiled", "head map of K", "tiled, h mod Hkv"},
        Sample{"head_map.value_tiled", "head map of V", "tiled, h mod Hkv"},
        Sample{"head_map.single_kv_head", "head map of K", "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0"},
        Sample{"head_map.first_shard", "head map of V", "0,0,0,0,1,1,1,1,0,0,0,0,1,1,1,1"},
        Sample{"head_map.replica_modulo", "head map of V", "0,0,1,1,2,2,3,3,0,0,1,1,2,2,3,3"},
        Sample{"scale.missing", "default scale at dk = 4", "1"},
        Sample{"scale.twice", "default scale at dk = 4", "0.25"},
        Sample{"scale.model_width", "default scale at dk = 4", "0.176777"},
        Sample{"scale.head_count", "default scale at dk = 4", "0.353553"},
        Sample{"scale.value_size", "default scale at dk = 4", "0.707107"},
        Sample{"scale.argument_ignored", "given scale of 3/4", "0.5"},
        Sample{"causal.top_left", "causal, T = 3, S = 7", "0, 0-1, 0-2"},
        Sample{"causal.top_left", "causal, T = 1, S = 5", "0"},
        Sample{"causal.missing", "causal, T = S = 4", "0-3, 0-3, 0-3, 0-3"},
        Sample{"causal.undeclared", "visible keys, no rule", "0, 0-1, 0-2"},
        Sample{"causal.only_square", "causal, T = 3, S = 7", "0-6, 0-6, 0-6"},
        Sample{"causal.bottom_right", "causal top left, T = 3, S = 6", "0-3, 0-4, 0-5"},
        Sample{"window.one_wide", "window (3, -1), T = 1, S = 8", "3-7"},
        Sample{"window.one_narrow", "window (3, -1), T = 1, S = 8", "5-7"},
        Sample{"window.ignored", "window (3, -1), T = 1, S = 8", "0-7"},
        Sample{"mask.empty_row_nan", "rows without a key", "NaN"},
        Sample{"mask.empty_row_mean", "rows without a key", "the mean of all values"},
        Sample{"mask.value_leak", "NaN in a hidden value", "NaN in the output"},
        Sample{"mask.key_leak", "NaN in a hidden key", "NaN in the output"},
        // 256 terms of 2^-12 in bfloat16: from 2^-4 on, half an ulp, a tie that goes to even.
        Sample{"softmax.bfloat16_sum", "a sum of 4096 equal terms", "0.0625"},
        Sample{"softcap.missing", "softcap", "the softcap is not applied"},
        Sample{"sink.dropped", "sinks", "the sink is left out of the denominator"},
        Sample{"mask.inverted", "explicit mask", "the boolean mask is read the other way round"},
        Sample{"length.capacity", "cache lengths",
               "the cache's capacity is taken for its length"}}) {
    CAPTURE(std::string(sample.slug));
    const IdentifiedRule rule = rule_of(report_on(sample.slug), sample.rule);
    CHECK(rule.rule == sample.rule);
    CHECK(rule.found == sample.found);
    CHECK(rule.agreement == Agreement::differs);
  }
}

TEST_CASE("identify: every single fault breaks a rule, but five that no rule is about") {
  // They change what several rules say in rare problems alone; the diagnosis names them.
  const std::vector<std::string> without_rule{"causal.ignores_past", "head_map.sequence_repeated",
                                              "layout.batch_stride_from_query", "softcap.overflow",
                                              "softmax.dot_overflow"};
  for (const auto& [slug, report] : test::reports_on_single_faults(ElementType::binary32)) {
    if (slug.empty()) continue;
    CAPTURE(slug);
    CHECK(rules_that(report, Agreement::differs).empty() ==
          (std::ranges::find(without_rule, slug) != without_rule.end()));
  }
}

TEST_CASE("identify: a fault of the head map leaves the rules of visibility alone") {
  const auto differing = rules_that(report_on("head_map.tiled"), Agreement::differs);
  CHECK(differing == std::vector<std::string>{"head map of K", "head map of V"});
}

TEST_CASE("identify: without answers nothing is determined") {
  std::vector<ProbeResult> unanswered;
  for (Probe& probe : probes(ElementType::binary32)) {
    ProbeResult result;
    result.probe = std::move(probe);
    result.answer.supported = false;
    unanswered.push_back(std::move(result));
  }
  const auto count = static_cast<std::int64_t>(unanswered.size());
  const ProbeReport report = judge_probes(std::move(unanswered), ElementType::binary32);
  CHECK(report.unsupported() == count);
  CHECK(report.count(Verdict::pass) == 0);
  CHECK(report.diagnosis.status == DiagnosisStatus::none);
  for (const IdentifiedRule& rule : identify(report)) {
    CAPTURE(rule.rule);
    CHECK(rule.agreement == Agreement::undetermined);
  }
}

TEST_CASE("probe run: a crash is an error with a finding, not a pass") {
  KernelHost host = test::load_example_kernel("misbehaving");
  host.configure("abort 0");
  std::vector<ProbeResult> results;
  for (Probe& probe : probes(ElementType::binary32)) {
    if (probe.name != "head_map") continue;
    ProbeResult result;
    result.answer = kernel_runner(host, ElementType::binary32)(probe);
    result.probe = std::move(probe);
    results.push_back(std::move(result));
  }
  REQUIRE(results.size() == 1);
  const ProbeReport report = judge_probes(std::move(results), ElementType::binary32);
  CHECK(report.has_findings());
  CHECK(report.count(Verdict::error) == 1);
  CHECK(report.count(Verdict::pass) == 0);
  CHECK(report.results[0].answer.finding.find("signal 6") != std::string::npos);
}
