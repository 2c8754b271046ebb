#include "gqa/diagnose/probes/probe_reading.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "gqa/attention/visibility.hpp"
#include "gqa/diagnose/measure/measurement.hpp"

namespace gqa {
namespace {

// The output in BHSD order; probes that are read here are.
Tensor<double> output_of(const ProbeResult& result) {
  return decode(*result.answer.output, "output");
}

std::string map_text(const std::vector<std::int64_t>& map, std::int64_t kv_heads) {
  const auto q_heads = static_cast<std::int64_t>(map.size());
  for (const auto& [kind, text] :
       {std::pair{HeadMapKind::contiguous, "contiguous, floor(h / (Hq / Hkv))"},
        std::pair{HeadMapKind::interleaved, "tiled, h mod Hkv"}}) {
    if (map == resolve_head_map({.kind = kind, .list = {}}, q_heads, kv_heads)) return text;
  }
  return fmt::format("{}", fmt::join(map, ","));
}

std::string ranges_text(const std::vector<std::int64_t>& keys) {
  if (keys.empty()) return "none";
  std::string text;
  for (std::size_t k = 0; k < keys.size();) {
    std::size_t end = k + 1;
    while (end < keys.size() && keys[end] == keys[end - 1] + 1) ++end;
    if (!text.empty()) text += "+";
    text +=
        end - k == 1 ? fmt::format("{}", keys[k]) : fmt::format("{}-{}", keys[k], keys[end - 1]);
    k = end;
  }
  return text;
}

// The keys whose one-hot column is not zero.
std::optional<std::vector<std::int64_t>> shown_keys(std::span<const double> row) {
  std::vector<std::int64_t> keys;
  for (std::size_t c = 0; c < row.size(); ++c) {
    if (!std::isfinite(row[c]) || row[c] < 0) return std::nullopt;
    if (row[c] > 0) keys.push_back(static_cast<std::int64_t>(c));
  }
  return keys;
}

// The probe with the known faults taken for the contract.
DiagnosisCase case_with(const ProbeResult& result, const Tolerance& tolerance,
                        std::span<const Fault> known) {
  DiagnosisCase problem =
      make_diagnosis_case(result.probe.tensors, result.probe.contract, tolerance);
  problem.declared = edited(problem.declared, known);
  return problem;
}

bool first_row_is_empty(const ProbeResult& result) {
  const AttentionProblem problem = make_problem(result.probe.tensors, result.probe.contract);
  return problem.visibility.keys_of(0, 0, 0).empty();
}

}  // namespace

std::optional<std::string> read_value_map(const ProbeResult& result) {
  const Tensor<double> output = output_of(result);
  std::vector<std::int64_t> map;
  for (std::int64_t h = 0; h < output.extent(1); ++h) {
    const double value = output.matrix(0, h)(0, 0);
    if (!(value >= 0.5 && value < 100)) return std::nullopt;
    map.push_back(static_cast<std::int64_t>(std::lround(value)) - 1);
  }
  return map_text(map, result.probe.tensors.value->shape[1]);
}

std::optional<std::string> read_key_map(const ProbeResult& result) {
  const Tensor<double> output = output_of(result);
  std::vector<std::int64_t> map;
  for (std::int64_t h = 0; h < output.extent(1); ++h) {
    const auto row = output.matrix(0, h).row(0);
    const auto largest = std::ranges::max_element(row);
    // The key of the head that was read has most of the weight.
    if (!(*largest > 4)) return std::nullopt;
    map.push_back(largest - row.begin());
  }
  return map_text(map, result.probe.tensors.key->shape[1]);
}

std::optional<std::string> read_visible_keys(const ProbeResult& result) {
  const Tensor<double> output = output_of(result);
  std::vector<std::string> rows;
  for (std::int64_t h = 0; h < output.extent(1); ++h) {
    for (std::int64_t i = 0; i < output.extent(2); ++i) {
      const auto keys = shown_keys(output.matrix(0, h).row(static_cast<std::size_t>(i)));
      if (!keys) return std::nullopt;
      std::string text = ranges_text(*keys);
      if (h == 0) {
        rows.push_back(std::move(text));
      } else if (rows[static_cast<std::size_t>(i)] != text) {
        return std::nullopt;
      }
    }
  }
  return fmt::format("{}", fmt::join(rows, ", "));
}

std::string declared_visible_keys(const ProbeResult& result) {
  const AttentionProblem problem = make_problem(result.probe.tensors, result.probe.contract);
  std::vector<std::string> rows;
  for (std::int64_t i = 0; i < problem.dimensions.queries; ++i) {
    const std::vector<std::size_t> keys = problem.visibility.keys_of(0, 0, i);
    rows.push_back(ranges_text({keys.begin(), keys.end()}));
  }
  return fmt::format("{}", fmt::join(rows, ", "));
}

std::optional<double> read_scale(const ProbeResult& result, const Tolerance& tolerance,
                                 std::span<const Fault> known) {
  const DiagnosisCase problem = case_with(result, tolerance, known);
  const auto scale = fitting_scale(problem, places_of(problem.declared, 16));
  return scale ? std::optional(scale->value) : std::nullopt;
}

bool holds_with(const ProbeResult& result, const Tolerance& tolerance,
                std::span<const Fault> known) {
  const DiagnosisCase problem = case_with(result, tolerance, known);
  return std::ranges::all_of(places_of(problem.declared, 64), [&](const RowPlace& place) {
    return matches(problem, problem.declared, place).certainly();
  });
}

std::optional<std::string> read_empty_row(const ProbeResult& result) {
  // A kernel that takes single rows only was asked the last one, which sees keys.
  if (!first_row_is_empty(result)) return std::nullopt;
  const Tensor<double> output = output_of(result);
  const auto row = output.matrix(0, 0).row(0);
  const double first = row[0];
  const bool equal = std::ranges::all_of(
      row, [first](double x) { return x == first || (std::isnan(x) && std::isnan(first)); });
  if (std::isnan(first) && equal) return "NaN";
  if (first == 0 && equal) return "zero";
  // One-hot values of 8: the mean over all keys is 8 / S in every column.
  const double mean = 8.0 / static_cast<double>(row.size());
  if (equal && std::abs(first - mean) < 0.05 * mean) return "the mean of all values";
  return fmt::format("{}", fmt::join(row, ", "));
}

std::optional<std::string> read_leak(const ProbeResult& result) {
  const Tensor<double> output = output_of(result);
  const bool leaks = std::ranges::any_of(output.data(), [](double x) { return std::isnan(x); });
  return leaks ? "NaN in the output" : "no effect";
}

std::optional<std::string> read_long_sum(const ProbeResult& result) {
  const double sum = output_of(result).data().front();
  if (!std::isfinite(sum)) return std::nullopt;
  const FloatFormat& format = *float_format(result.answer.output->type);
  // Sums in the type's own precision that keep their place: 12 doublings of 4096 terms.
  if (std::abs(sum - 1) <= 16 * format.unit_roundoff()) return "1 to within the type";
  return fmt::format("{:.6g}", sum);
}

}  // namespace gqa
