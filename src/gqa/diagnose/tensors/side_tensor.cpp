#include "gqa/diagnose/tensors/side_tensor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "gqa/diagnose/measure/common_factor.hpp"
#include "gqa/diagnose/measure/content.hpp"
#include "gqa/num/arithmetic.hpp"

namespace gqa {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
// Elements that are compared at most, spread over the tensor.
constexpr std::int64_t most_elements = 200'000;

// No rule hides a key and nothing is added to a score: what modes 0 and 1 of qk_matmul_output hold.
Behaviour without_rules(Behaviour behaviour) {
  behaviour.contract.causal = false;
  behaviour.contract.window = Window{};
  behaviour.range_override.reset();
  behaviour.lengths.reset();
  behaviour.length_shortfall = 0;
  behaviour.mask.reset();
  behaviour.bias.reset();
  behaviour.slopes.reset();
  behaviour.mask_use = MaskUse::hide;
  behaviour.softcap_after_mask = false;
  return behaviour;
}

// What a score may be off: four times the likely bound of its dot product and of its roundings.
double score_allowance(const DiagnosisCase& problem, const Behaviour& behaviour,
                       const EvaluatedRow<double>& row, double variance, double expected) {
  const auto* model = std::get_if<ModelTolerance>(&problem.tolerance);
  if (model == nullptr) return stated_allowance(problem.tolerance, *problem.format, expected);
  double largest = 0;
  for (const double score : row.raw_scores) largest = std::max(largest, std::abs(score));
  const PrecisionModel& m = *model->model;
  const double roundoff = m.score + m.stored_score + m.exponential;
  const double cap = behaviour.contract.softcap.get_d();
  return 4 * (m.lambda * std::sqrt(variance) + roundoff * (largest + cap) +
              m.output_rounding(*problem.format).roundoff * std::abs(expected) +
              m.output_rounding(*problem.format).underflow);
}

// A natural logarithm as a recorded lse gives it.
double in_form(double natural, const LseForm& form) {
  if (natural == -infinity) return form.empty == LseEmpty::plus_infinity ? infinity : -infinity;
  return form.base == LseBase::two ? natural * std::numbers::log2e : natural;
}

bool all_elements_match(const std::vector<ComparedElement>& elements) {
  return std::ranges::all_of(elements, &ComparedElement::matches);
}

}  // namespace

bool ComparedElement::matches() const {
  if (std::isnan(recorded) || std::isnan(expected)) {
    return std::isnan(recorded) && std::isnan(expected);
  }
  return recorded == expected || std::abs(recorded - expected) <= allowed;
}

std::optional<SideTensor> SideTensor::of(const std::string& name, const ProblemTensors& tensors) {
  SideTensor side;
  side.name_ = name;
  side.qk_mode_ = tensors.qk_matmul_output_mode;
  if (name == "lse") side.tensor_ = tensors.lse;
  if (name == "present_key") side.tensor_ = tensors.present_key;
  if (name == "present_value") side.tensor_ = tensors.present_value;
  if (name == "qk_matmul_output") side.tensor_ = tensors.qk_matmul_output;
  if (!side.tensor_ || tensors.cu_seqlens_q) return std::nullopt;
  side.values_ = decode(*side.tensor_, name).data();
  return side;
}

std::vector<ComparedElement> SideTensor::compared(const DiagnosisCase& problem,
                                                  const Behaviour& behaviour, int qk_mode,
                                                  bool all) const {
  // Axes that have changed places have no place of their own in these tensors.
  if (behaviour.axes_swapped) return {{0, infinity, 0}};
  if (name_ == "lse") return compared_lse(problem, behaviour, all);
  if (name_ == "qk_matmul_output") return compared_scores(problem, behaviour, qk_mode, all);
  return compared_cache(behaviour, all);
}

std::vector<ComparedElement> SideTensor::compared_lse(const DiagnosisCase& problem,
                                                      const Behaviour& behaviour, bool all) const {
  DiagnosisCase own = problem;
  own.format = float_format(tensor_->type);
  std::vector<ComparedElement> elements;
  const std::int64_t keys = std::max<std::int64_t>(behaviour.keys(), 1);
  for (const RowPlace& place : places_of(problem.declared, most_elements / keys + 64)) {
    const auto row = evaluate_row<double>(behaviour, place.batch, place.head, place.row);
    ComparedElement element;
    element.recorded = values_[extent(
        (place.batch * behaviour.query_heads() + place.head) * behaviour.queries() + place.row)];
    element.expected = in_form(log_sum_exp(row), problem.declared.contract.lse);
    double variance = 0;
    const std::vector<double> variances = score_variances(behaviour, place, row, own.tolerance);
    for (std::size_t k = 0; k < variances.size(); ++k) {
      variance = std::max(variance, variances[k]);
    }
    element.allowed = score_allowance(own, behaviour, row, variance, element.expected);
    elements.push_back(element);
    if (!all && !element.matches()) break;
  }
  return elements;
}

std::vector<ComparedElement> SideTensor::compared_scores(const DiagnosisCase& problem,
                                                         const Behaviour& behaviour, int mode,
                                                         bool all) const {
  DiagnosisCase own = problem;
  own.format = float_format(tensor_->type);
  const Behaviour asked = mode < 2 ? without_rules(behaviour) : behaviour;
  const std::int64_t keys = std::max<std::int64_t>(problem.declared.keys(), 1);
  std::vector<ComparedElement> elements;
  if (behaviour.keys() != keys) return {{0, infinity, 0}};
  for (const RowPlace& place : places_of(problem.declared, most_elements / keys + 16)) {
    const auto row = evaluate_row<double>(asked, place.batch, place.head, place.row);
    const std::vector<double> variances = score_variances(asked, place, row, own.tolerance);
    const auto first = extent(
        ((place.batch * asked.query_heads() + place.head) * asked.queries() + place.row) * keys);
    std::size_t k = 0;
    for (std::size_t j = 0; j < extent(keys); ++j) {
      ComparedElement element{values_[first + j], mode == 2 ? -infinity : 0, 0};
      if (k < row.visible.size() && row.visible[k] == j) {
        element.expected = mode == 0 ? row.raw_scores[k] : row.scores[k];
        element.allowed = score_allowance(own, asked, row, variances[k], element.expected);
        if (mode == 3) {
          element.allowed *= row.weights[k];
          element.expected = row.weights[k];
        }
        ++k;
      }
      elements.push_back(element);
      if (!all && !element.matches()) return elements;
    }
  }
  return elements;
}

// Bit for bit, as the caches are audited.
std::vector<ComparedElement> SideTensor::compared_cache(const Behaviour& behaviour,
                                                        bool all) const {
  const bool is_key = name_ == "present_key";
  const std::int64_t width = is_key ? behaviour.key_size() : behaviour.value_size();
  const std::int64_t heads = behaviour.key.head_count();
  const std::int64_t per_entry = heads * behaviour.keys() * width;
  if (per_entry * behaviour.batch() != static_cast<std::int64_t>(values_.size())) {
    return {{0, infinity, 0}};
  }
  std::vector<ComparedElement> elements;
  const auto count = static_cast<std::int64_t>(values_.size());
  // An odd step meets every column.
  const std::int64_t step = count / most_elements * 2 + 1;
  for (std::int64_t n = 0; n < count; n += step) {
    const std::int64_t b = n / per_entry;
    const std::int64_t h = n / (behaviour.keys() * width) % heads;
    const std::int64_t j = n / width % behaviour.keys();
    const std::int64_t c = n % width;
    elements.push_back({values_[extent(n)],
                        is_key ? behaviour.key_at(b, h, j, c) : behaviour.value_at(b, h, j, c), 0});
    if (!all && !elements.back().matches()) break;
  }
  return elements;
}

Explanation SideTensor::explanation(const DiagnosisCase& problem, std::vector<Fault> faults) const {
  Explanation result;
  result.faults = std::move(faults);
  result.tensor = name_;
  result.tolerance = problem.tolerance;
  return result;
}

// Every element fits, and those that the faults move have come much nearer.
bool SideTensor::explains(const DiagnosisCase& problem, const std::vector<Fault>& faults,
                          const std::vector<ComparedElement>& declared) const {
  const Behaviour behaviour = edited(problem.declared, faults);
  if (!all_elements_match(compared(problem, behaviour, qk_mode_, false))) return false;
  const std::vector<ComparedElement> elements = compared(problem, behaviour, qk_mode_);
  if (elements.size() != declared.size()) return false;
  double residual = 0, change = 0;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const double moved = elements[i].expected - declared[i].expected;
    const bool counts = std::abs(moved) > elements[i].allowed;
    if (std::isfinite(moved)) {
      change += counts ? square(moved) : 0;
      residual += counts ? square(elements[i].recorded - elements[i].expected) : 0;
    } else if (!declared[i].matches()) {
      change += 1;
    }
  }
  return change > 0 && residual <= change / 4;
}

std::optional<Explanation> SideTensor::multiple(
    const DiagnosisCase& problem, const std::vector<ComparedElement>& declared) const {
  FactorFit fit;
  for (const ComparedElement& element : declared) {
    if (std::isfinite(element.expected)) fit.add(element.expected, element.recorded);
  }
  const auto factor = fit.factor(0x1p-24);
  if (!factor || factor->value == 0 || factor->allows(1)) return std::nullopt;
  const std::vector<std::int64_t> sizes = sizes_of(problem.declared);
  const auto names = recognised(*factor, sizes);
  const double value = names.empty() ? factor->value : names.front().value;
  for (ComparedElement element : declared) {
    element.expected *= value;
    element.allowed *= std::max(1.0, std::abs(value));
    if (!element.matches()) return std::nullopt;
  }
  Fault fault{&content_factor, 0, {}, describe(*factor, sizes)};
  fault.sentence =
      fmt::format("is {} times what it should be ({})", fault.measurement, measured_as(*factor));
  if (name_ == "lse" && value == std::numbers::log2e) {
    fault.sentence += ": in base 2; if the kernel means that, state --lse-base 2";
  }
  return explanation(problem, {fault});
}

std::vector<Explanation> SideTensor::other_mode(const DiagnosisCase& problem,
                                                const std::vector<Explanation>& of_output) const {
  std::vector<Explanation> found;
  if (name_ != "qk_matmul_output" || (qk_mode_ != 1 && qk_mode_ != 2)) return found;
  std::vector<std::vector<Fault>> sets{{}};
  for (const Explanation& one : of_output) sets.push_back(one.faults);
  for (std::vector<Fault>& faults : sets) {
    const Behaviour behaviour = edited(problem.declared, faults);
    if (!all_elements_match(compared(problem, behaviour, 3 - qk_mode_, false))) continue;
    faults.push_back({&modes_swapped, 0});
    found.push_back(explanation(problem, std::move(faults)));
  }
  return found;
}

std::vector<Explanation> SideTensor::explain(const DiagnosisCase& problem,
                                             const std::vector<Explanation>& of_output) const {
  const auto content = content_of(*tensor_, name_);
  if (content && content->kind != &content_constant) {
    return {explanation(problem, {*content})};
  }
  std::vector<Explanation> found;
  const std::vector<ComparedElement> declared = compared(problem, problem.declared, qk_mode_);
  if (all_elements_match(declared)) return found;  // wrong in places that are not compared
  for (const Explanation& one : of_output) {
    if (explains(problem, one.faults, declared)) {
      found.push_back(explanation(problem, one.faults));
    }
  }
  if (found.empty()) found = other_mode(problem, of_output);
  if (!found.empty()) return found;
  for (const Fault& fault : all_faults()) {
    const bool known = std::ranges::any_of(
        found, [&](const Explanation& one) { return one.faults.front().kind == fault.kind; });
    if (!known && explains(problem, {fault}, declared)) {
      found.push_back(explanation(problem, {fault}));
    }
  }
  if (!found.empty()) return found;
  if (auto factor = multiple(problem, declared)) found.push_back(std::move(*factor));
  return found;
}

}  // namespace gqa
