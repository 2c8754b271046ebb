#include "gqa/diagnose/arithmetic/kernel_arithmetic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>

#include "gqa/diagnose/arithmetic/key_sums.hpp"
#include "gqa/diagnose/arithmetic/normalisation.hpp"
#include "gqa/diagnose/arithmetic/scale_place.hpp"
#include "gqa/diagnose/arithmetic/score_sums.hpp"
#include "gqa/diagnose/arithmetic/weight_format.hpp"
#include "gqa/diagnose/probes/probe_reading.hpp"

namespace gqa {
namespace {

void append(std::vector<ArithmeticEntry>& all, std::vector<ArithmeticEntry> more) {
  std::ranges::move(more, std::back_inserter(all));
}

// What the place of the scale is asked with: the weights as they were read, where one model fits or
// all that fit store the same; in binary32 whether they are divided first shows in the division.
std::optional<WeightModel> settled_weights(const std::optional<WeightReading>& weights,
                                           const std::optional<DivisionReading>& division,
                                           const KeySums& sums) {
  if (!weights || weights->models.empty()) return std::nullopt;
  WeightModel model = weights->models.front();
  const bool running = !sums.scopes.empty() && sums.scopes.front().keys > 0;
  const bool differs = std::ranges::any_of(weights->models, [&](const WeightModel& other) {
    return other.normalised != model.normalised;
  });
  if (differs) model.normalised = !running && division && division->is_normalised();
  return model;
}

KernelArithmetic read_with(const ProbeRunner& runner, ElementType type,
                           const ExperimentLimits& limits) {
  KernelArithmetic result;
  Experiments experiments(runner, type, limits);
  result.calls = experiments.calls();
  if (!experiments.is_possible()) return result;
  const std::vector<ArithmeticEntry> subnormals = read_subnormals(experiments);
  const KeySums keys = read_key_sums(experiments);
  append(result.entries, keys.entries());
  const ScoreSums scores = read_score_sums(experiments);
  append(result.entries, scores.entries(experiments.format()));
  const auto weights = read_weight_format(experiments, keys, scores);
  append(result.entries, weights.value_or(WeightReading{}).entries());
  const auto division = read_division(experiments, keys, scores);
  std::optional<ScaleReading> scale;
  if (const auto settled = settled_weights(weights, division, keys)) {
    scale = read_scale_place(experiments, *settled, keys, scores);
  }
  append(result.entries, scale.value_or(ScaleReading{}).entries());
  append(result.entries, division_entries(division, weights, keys));
  append(result.entries, subnormals);
  result.calls = experiments.calls();
  result.query_rows = {limits.rows};
  return result;
}

bool same_reading(const ArithmeticEntry& a, const ArithmeticEntry& b) {
  return a.status == b.status && a.values == b.values && a.note == b.note;
}

ArithmeticEntry of_rows(ArithmeticEntry entry, std::int64_t rows) {
  entry.entry += fmt::format(" ({} query row{})", rows, rows == 1 ? "" : "s");
  return entry;
}

// Entries come in one order, whatever was read.
void merge(KernelArithmetic& result, KernelArithmetic more) {
  result.calls += more.calls;
  if (more.entries.empty()) return;
  if (result.entries.empty()) {
    result.entries = std::move(more.entries);
    result.query_rows = std::move(more.query_rows);
    return;
  }
  std::vector<ArithmeticEntry> merged;
  for (std::size_t n = 0; n < result.entries.size(); ++n) {
    if (same_reading(result.entries[n], more.entries[n])) {
      merged.push_back(std::move(result.entries[n]));
      continue;
    }
    merged.push_back(of_rows(std::move(result.entries[n]), result.query_rows.front()));
    merged.push_back(of_rows(std::move(more.entries[n]), more.query_rows.front()));
  }
  result.entries = std::move(merged);
  result.query_rows.push_back(more.query_rows.front());
}

// Does the probe put what the experiments put: one batch entry in the plain layout, and no rule? A
// kernel that takes causal problems only is asked with that rule.
bool is_plain(const Probe& probe) {
  const Contract& contract = probe.contract;
  const ProblemTensors& tensors = probe.tensors;
  const bool has_rule = contract.scale || contract.softcap != 0 || contract.window.left >= 0 ||
                        contract.window.right >= 0 || tensors.attn_mask || tensors.sink ||
                        tensors.alibi_slopes || tensors.nonpad_kv_seqlen || tensors.past_key ||
                        tensors.cu_seqlens_q;
  const bool has_layout = contract.layout == Layout::bhsd && probe.key_row_stride_factor == 1 &&
                          tensors.query->shape.front() == 1;
  return has_layout && !has_rule && (!contract.causal || !probe.habit.empty());
}

// Does a running sum in a narrow format, and that alone, explain the probe? It is what is read.
bool is_narrow_sum_alone(const ProbeResult& result, const Tolerance& tolerance) {
  if (!result.answer.finding.empty()) return false;
  return std::ranges::any_of(all_faults(), [&](const Fault& fault) {
    return is_narrow_sum(*fault.kind) && holds_with(result, tolerance, {&fault, 1});
  });
}

// The name of a plain probe that is wrong in another way, or empty.
std::string wrong_plain_probe(const ProbeReport& report) {
  for (const ProbeResult& result : report.results) {
    if (!is_plain(result.probe) || !result.answer.supported) continue;
    const bool is_wrong = result.verdict == Verdict::fail || !result.answer.finding.empty();
    if (is_wrong && !is_narrow_sum_alone(result, report.tolerance)) return result.probe.name;
  }
  return "";
}

}  // namespace

const ArithmeticEntry* KernelArithmetic::find(std::string_view entry) const {
  const auto found = std::ranges::find(entries, entry, &ArithmeticEntry::entry);
  return found == entries.end() ? nullptr : &*found;
}

KernelArithmetic read_arithmetic(const ProbeRunner& runner, ElementType type,
                                 const ExperimentLimits& limits) {
  KernelArithmetic result;
  if (type != ElementType::binary32 && type != ElementType::binary16 &&
      type != ElementType::bfloat16) {
    result.reason = "the arithmetic is read in binary32, binary16 and bfloat16 only";
    return result;
  }
  constexpr std::array<std::int64_t, 2> row_counts{1, 64};
  for (const std::int64_t rows : row_counts) {
    if (limits.rows > 0 && limits.rows != rows) continue;
    if (limits.queries > 0 && limits.queries < rows) continue;
    ExperimentLimits limits_of_rows = limits;
    limits_of_rows.rows = rows;
    merge(result, read_with(runner, type, limits_of_rows));
  }
  if (result.entries.empty())
    result.reason = "the kernel refused every small problem without a rule";
  return result;
}

KernelArithmetic read_arithmetic(const ProbeReport& report, const ProbeRunner& runner,
                                 const ExperimentLimits& limits) {
  if (const std::string wrong = wrong_plain_probe(report); !wrong.empty()) {
    KernelArithmetic unread;
    unread.reason = fmt::format(
        "it can be read only of a kernel that is right where no rule is stated: see probe {}",
        wrong);
    return unread;
  }
  return read_arithmetic(runner, report.type, limits);
}

}  // namespace gqa
