#include "gqa/diagnose/arithmetic/kernel_arithmetic.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "gqa/diagnose/arithmetic/key_sums.hpp"
#include "gqa/diagnose/arithmetic/normalisation.hpp"
#include "gqa/diagnose/arithmetic/scale_place.hpp"
#include "gqa/diagnose/arithmetic/score_sums.hpp"
#include "gqa/diagnose/arithmetic/weight_format.hpp"

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
  Experiments experiments(runner, type, limits);
  if (!experiments.is_possible()) {
    result.calls = experiments.calls();
    result.reason = "the kernel refused every small problem without a rule";
    return result;
  }
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
  return result;
}

KernelArithmetic read_arithmetic(const ProbeReport& report, const ProbeRunner& runner,
                                 const ExperimentLimits& limits) {
  if (report.count(Verdict::fail) > 0 || report.has_findings()) {
    KernelArithmetic unread;
    unread.reason = "it can be read only of a kernel that follows the contract";
    return unread;
  }
  return read_arithmetic(runner, report.type, limits);
}

}  // namespace gqa
