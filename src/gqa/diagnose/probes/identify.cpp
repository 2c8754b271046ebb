#include "gqa/diagnose/probes/identify.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>

#include "gqa/diagnose/probes/probe_reading.hpp"

namespace gqa {
namespace {

// A rule that no single output shows: its probes pass, or the diagnosis names its family.
struct ProbedScoreRule {
  std::string_view rule;
  std::string_view declared;
  std::string_view family;                 // of the faults that break it
  std::array<std::string_view, 3> probes;  // that read it; empty: none
};

constexpr std::array contract_score_rules{
    ProbedScoreRule{"explicit mask",
                    "true attends, false is left out; a float is added",
                    "mask",
                    {"mask", "mask_per_head", "mask_float"}},
    ProbedScoreRule{"softcap",
                    "c tanh(s / c), before bias and mask",
                    "softcap",
                    {"softcap", "softcap_causal", "softcap_mask"}},
    ProbedScoreRule{"ALiBi", "score - slope |p - j|", "bias", {"alibi", "alibi_six_heads"}},
    ProbedScoreRule{
        "sinks", "exp(z) in the denominator", "sink", {"sink", "sink_zero", "sink_window"}},
    ProbedScoreRule{
        "cache lengths", "keys below nonpad_kv_seqlen", "length", {"length", "length_causal"}},
    ProbedScoreRule{"past keys", "seen before the new ones", "length", {"past", "past_onnx"}},
    ProbedScoreRule{"packed documents", "no row sees another document", "length", {"documents"}},
    ProbedScoreRule{
        "layouts", "BHSD, BSHD, BSH and strided rows", "layout", {"bshd", "bsh", "strided_keys"}},
    ProbedScoreRule{"softmax",
                    "exp(s - max) over keys, merged by log-sum-exp",
                    "softmax",
                    {"large_scores", "rising_scores", "shards"}},
};

const ProbeResult* find(const ProbeReport& report, std::string_view probe) {
  for (const ProbeResult& result : report.results) {
    if (result.probe.name == probe && result.answer.output) return &result;
  }
  return nullptr;
}

// What the diagnosis names of one family, if it names anything.
std::string named_of(const ProbeReport& report, std::string_view family_name) {
  if (report.diagnosis.explanations.empty()) return "";
  std::string text;
  for (const Fault& fault : report.diagnosis.explanations.front().faults) {
    const bool merge = family_name == "softmax" && family(*fault.kind) == "merge";
    if (family(*fault.kind) != family_name && !merge) continue;
    text += (text.empty() ? "" : "; ") + std::string(fault.kind->sentence);
  }
  return text;
}

IdentifiedRule from_family(const ProbeReport& report, const ProbedScoreRule& rule) {
  IdentifiedRule result{std::string(rule.rule), std::string(rule.declared), "",
                        Agreement::undetermined};
  bool any = false;
  bool all_pass = true;
  std::string failing;
  for (const std::string_view probe : rule.probes) {
    const ProbeResult* found = probe.empty() ? nullptr : find(report, probe);
    if (found == nullptr) continue;
    any = true;
    if (found->verdict == Verdict::pass) continue;
    all_pass = false;
    failing += (failing.empty() ? "" : ", ") + found->probe.name;
  }
  if (!any) {
    result.found = "not supported, or no answer";
  } else if (all_pass) {
    result.found = "as declared";
    result.agreement = Agreement::agrees;
  } else if (std::string named = named_of(report, rule.family); !named.empty()) {
    result.found = std::move(named);
    result.agreement = Agreement::differs;
  } else if (!report.diagnosis.explanations.empty()) {
    result.found = "as declared, once the other faults are allowed for";
    result.agreement = Agreement::agrees;
  } else {
    result.found = fmt::format("wrong in {}, unexplained", failing);
  }
  return result;
}

IdentifiedRule measured(std::string rule, std::string declared,
                        const std::optional<std::string>& found) {
  IdentifiedRule result{std::move(rule), std::move(declared), "not supported, or not readable",
                        Agreement::undetermined};
  if (!found) return result;
  result.found = *found;
  result.agreement = result.found == result.declared ? Agreement::agrees : Agreement::differs;
  return result;
}

// "causal, T = S = 4 (asked: the last row alone)".
std::string rule_name(std::string_view rule, const ProbeResult* result) {
  if (result == nullptr || result->probe.habit.empty()) return std::string(rule);
  return fmt::format("{} (asked: {})", rule, result->probe.habit);
}

void add_head_maps(const ProbeReport& report, std::vector<IdentifiedRule>& rules) {
  const std::string contiguous = "contiguous, floor(h / (Hq / Hkv))";
  const auto read = [&](std::string_view probe, auto reading) -> std::optional<std::string> {
    const ProbeResult* result = find(report, probe);
    return result == nullptr ? std::nullopt : reading(*result);
  };
  rules.push_back(measured("head map of K", contiguous, read("head_map_keys", read_key_map)));
  rules.push_back(measured("head map of V", contiguous, read("head_map_values", read_value_map)));
}

void add_visible_keys(const ProbeReport& report, std::vector<IdentifiedRule>& rules) {
  struct Reading {
    std::string_view probe;
    std::string_view rule;
  };
  constexpr std::array readings{Reading{"all_visible", "visible keys, no rule"},
                                Reading{"causal_square", "causal, T = S = 4"},
                                Reading{"causal_chunk", "causal, T = 3, S = 7"},
                                Reading{"causal_decode", "causal, T = 1, S = 5"},
                                Reading{"causal_more_queries", "causal, T = 5, S = 3"},
                                Reading{"causal_top_left", "causal top left, T = 3, S = 6"},
                                Reading{"window", "window (2, -1), causal, T = S = 7"},
                                Reading{"window_two_sided", "window (2, 1), T = S = 6"},
                                Reading{"window_decode", "window (3, -1), T = 1, S = 8"}};
  for (const Reading& reading : readings) {
    const ProbeResult* result = find(report, reading.probe);
    std::optional<std::string> found;
    std::string declared = "?";
    if (result != nullptr) {
      declared = declared_visible_keys(*result);
      found = read_visible_keys(*result);
    }
    rules.push_back(measured(rule_name(reading.rule, result), std::move(declared), found));
  }
}

// The probe is wrong: is the scale, or is it right once the other faults are allowed for?
void settle_scale(const ProbeResult& result, const Tolerance& tolerance,
                  std::span<const Fault> known, IdentifiedRule& rule) {
  if (holds_with(result, tolerance, known)) {
    rule.found = rule.declared;
    rule.agreement = Agreement::agrees;
  } else if (const auto scale = read_scale(result, tolerance, known)) {
    rule.found = fmt::format("{:.6g}", *scale);
    if (rule.found == rule.declared) rule.found += ", to six digits";
    rule.agreement = Agreement::differs;
  }
}

// Scales show in scores alone, so that other faults have to be allowed for.
void add_scales(const ProbeReport& report, std::vector<IdentifiedRule>& rules) {
  std::vector<Fault> known;
  if (!report.diagnosis.explanations.empty()) {
    known = report.diagnosis.explanations.front().faults;
    std::erase_if(known, [](const Fault& fault) { return family(*fault.kind) == "scale"; });
  }
  struct Reading {
    const char* probe;
    const char* rule;
    double declared;
  };
  for (const Reading& reading : {Reading{"scale", "default scale at dk = 4", 0.5},
                                 Reading{"scale_given", "given scale of 3/4", 0.75}}) {
    const ProbeResult* result = find(report, reading.probe);
    IdentifiedRule rule{reading.rule, fmt::format("{}", reading.declared),
                        "not supported, or not readable", Agreement::undetermined};
    if (result != nullptr && result->verdict == Verdict::pass) {
      // A fitted number is as rough as the type; the verdict is not.
      rule.found = rule.declared;
      rule.agreement = Agreement::agrees;
    } else if (result != nullptr) {
      settle_scale(*result, report.tolerance, known, rule);
    }
    rules.push_back(std::move(rule));
  }
}

}  // namespace

std::string_view name(Agreement agreement) {
  switch (agreement) {
    case Agreement::agrees:
      return "agrees";
    case Agreement::differs:
      return "differs";
    case Agreement::undetermined:
      return "undetermined";
  }
  return "?";
}

std::vector<IdentifiedRule> identify(const ProbeReport& report) {
  std::vector<IdentifiedRule> rules;
  add_head_maps(report, rules);
  add_visible_keys(report, rules);
  add_scales(report, rules);
  for (const ProbedScoreRule& rule : contract_score_rules)
    rules.push_back(from_family(report, rule));
  const ProbeResult* empty = find(report, "causal_more_queries");
  rules.push_back(measured("rows without a key", "zero",
                           empty == nullptr ? std::nullopt : read_empty_row(*empty)));
  for (const auto& [probe, rule] : {std::pair{"hidden_value_nan", "NaN in a hidden value"},
                                    std::pair{"hidden_key_nan", "NaN in a hidden key"}}) {
    const ProbeResult* result = find(report, probe);
    rules.push_back(
        measured(rule, "no effect", result == nullptr ? std::nullopt : read_leak(*result)));
  }
  const ProbeResult* sum = find(report, "long_sum");
  rules.push_back(measured("a sum of 4096 equal terms", "1 to within the type",
                           sum == nullptr ? std::nullopt : read_long_sum(*sum)));
  return rules;
}

}  // namespace gqa
