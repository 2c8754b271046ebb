#include "gqa/diagnose/arithmetic/normalisation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "gqa/diagnose/arithmetic/drawn_numbers.hpp"

namespace gqa {
namespace {

double to_binary32(double x) {
  return rounded(x, NarrowFormat::binary32);
}

// `equal` keys of score 0, the others far below; the given value rows on the first of them.
std::optional<std::vector<double>> equal_key_sums(Experiments& experiments, std::int64_t total,
                                                  std::int64_t equal,
                                                  const std::vector<std::vector<double>>& rows) {
  const std::int64_t width = experiments.key_size(64);
  ProbeMatrix query(1, width), key(total, width);
  query(0, 0) = -8000;
  for (std::int64_t j = equal; j < total; ++j) key(j, 0) = 1;
  ProbeMatrix value(total, static_cast<std::int64_t>(rows.front().size()));
  for (std::size_t j = 0; j < rows.size(); ++j) {
    for (std::size_t c = 0; c < rows[j].size(); ++c) {
      value(static_cast<std::int64_t>(j), static_cast<std::int64_t>(c)) = rows[j][c];
    }
  }
  const auto output = experiments.run(query, key, value);
  if (!output) return std::nullopt;
  return output->data;
}

DivisionReading best_kinds(const std::vector<std::pair<DivisionKind, double>>& shares) {
  DivisionReading reading;
  for (const auto& [kind, share] : shares) reading.share = std::max(reading.share, share);
  for (const auto& [kind, share] : shares) {
    if (reading.share > 0.9 && share >= reading.share - 0.005) reading.kinds.push_back(kind);
  }
  return reading;
}

double predicted(DivisionKind kind, const std::array<double, 3>& v, SumRounding rounding) {
  const NarrowFormat format = NarrowFormat::binary32;
  const auto add = [&](double a, double b) { return rounded_sum(a, b, format, rounding); };
  const double third = to_binary32(1 / 3.0);
  switch (kind) {
    case DivisionKind::quotient:
      return to_binary32(add(add(v[0], v[1]), v[2]) / 3);
    case DivisionKind::reciprocal:
      return to_binary32(add(add(v[0], v[1]), v[2]) * third);
    case DivisionKind::normalised_fused:
      return add(add(rounded(third * v[0], format, rounding), third * v[1]), third * v[2]);
    case DivisionKind::normalised_split:
      break;
  }
  const auto term = [&](double x) { return rounded(third * x, format, rounding); };
  return add(add(term(v[0]), term(v[1])), term(v[2]));
}

std::optional<DivisionReading> division_of_three(Experiments& experiments, SumRounding rounding,
                                                 NarrowFormat operands) {
  DrawnNumbers random(13);
  const auto operand = [&](double x) { return rounded(to_binary32(x), operands); };
  std::vector<std::vector<double>> rows(3);
  for (std::int64_t n = 0; n < 256; ++n) {
    rows[0].push_back(operand(random.uniform(1, 2)));
    rows[1].push_back(-operand(rows[0].back() * (1 - 0x1p-9)));
    rows[2].push_back(operand(random.uniform(1, 2) * 0x1p-9));
  }
  const auto output = equal_key_sums(experiments, 64, 3, rows);
  if (!output) return std::nullopt;
  std::vector<std::pair<DivisionKind, double>> shares;
  for (const DivisionKind kind : {DivisionKind::quotient, DivisionKind::reciprocal,
                                  DivisionKind::normalised_fused, DivisionKind::normalised_split}) {
    double fitting = 0;
    for (std::size_t n = 0; n < output->size(); ++n) {
      if (predicted(kind, {rows[0][n], rows[1][n], rows[2][n]}, rounding) == (*output)[n])
        ++fitting;
    }
    shares.emplace_back(kind, fitting / static_cast<double>(output->size()));
  }
  DivisionReading reading = best_kinds(shares);
  reading.tells_normalised = true;
  return reading;
}

// The sum n t is held in two values, so that the type holds both.
std::optional<DivisionReading> division_of_ties(Experiments& experiments) {
  const NarrowFormat type = experiments.format();
  const int precision = precision_of(type);
  const double size = type == NarrowFormat::binary16 ? 0x1p-6 : 1;
  const std::int64_t total = experiments.keys(1024);
  for (const int n : {41, 47, 55, 61, 83, 97, 107}) {
    std::vector<std::vector<double>> rows(2);
    std::vector<double> quotients, products;
    for (int odd = 1; odd < 1 << precision; odd += 2) {
      const double sum = n * (1 + std::ldexp(odd, -precision)) * size;
      const double high = rounded(sum, type);
      const double quotient = rounded(to_binary32(sum / n), type);
      const double product = rounded(to_binary32(sum * to_binary32(1.0 / n)), type);
      if (quotient == product || rounded(sum - high, type) != sum - high) continue;
      rows[0].push_back(high);
      rows[1].push_back(sum - high);
      quotients.push_back(quotient);
      products.push_back(product);
      if (quotients.size() == 64) break;
    }
    if (quotients.size() < 8) continue;
    const auto output = equal_key_sums(experiments, total, n, rows);
    if (!output) return std::nullopt;
    double divided = 0, multiplied = 0;
    for (std::size_t c = 0; c < output->size(); ++c) {
      if ((*output)[c] == quotients[c]) ++divided;
      if ((*output)[c] == products[c]) ++multiplied;
    }
    const double count = static_cast<double>(output->size());
    return best_kinds({{DivisionKind::quotient, divided / count},
                       {DivisionKind::reciprocal, multiplied / count}});
  }
  return DivisionReading{};
}

}  // namespace

bool DivisionReading::is_normalised() const {
  return !kinds.empty() && std::ranges::all_of(kinds, [](DivisionKind kind) {
    return kind == DivisionKind::normalised_fused || kind == DivisionKind::normalised_split;
  });
}

bool DivisionReading::is_last() const {
  return !kinds.empty() && std::ranges::all_of(kinds, [](DivisionKind kind) {
    return kind == DivisionKind::quotient || kind == DivisionKind::reciprocal;
  });
}

std::optional<DivisionReading> read_division(Experiments& experiments, const KeySums& sums,
                                             const ScoreSums& scores) {
  const SumRounding rounding =
      sums.accumulator ? sums.accumulator->sum_rounding() : SumRounding::to_nearest;
  if (experiments.type() == ElementType::binary32) {
    return division_of_three(experiments, rounding, scores.operand_format(NarrowFormat::binary32));
  }
  return division_of_ties(experiments);
}

// A running maximum has no sum of all weights to divide by; whether narrow weights were divided
// first shows in them. What was divided first is not divided at the end.
std::vector<ArithmeticEntry> division_entries(const std::optional<DivisionReading>& division,
                                              const std::optional<WeightReading>& weights,
                                              const KeySums& sums) {
  const bool running = !sums.scopes.empty() && sums.scopes.front().keys > 0;
  bool may_be_first = !running;
  bool may_be_last = true;
  if (weights && !weights->models.empty()) {
    const auto first = [](const WeightModel& model) { return model.normalised; };
    may_be_first = may_be_first && std::ranges::any_of(weights->models, first);
    may_be_last = !std::ranges::all_of(weights->models, first);
  }
  std::vector<std::string> how;
  if (division && !division->kinds.empty()) {
    if (division->is_normalised()) may_be_last = false;
    if (division->tells_normalised && division->is_last()) may_be_first = false;
    for (const DivisionKind kind : division->kinds) {
      if (kind == DivisionKind::quotient) how.emplace_back("division");
      if (kind == DivisionKind::reciprocal) how.emplace_back("times the reciprocal");
    }
  }
  std::vector<std::string> when;
  if (may_be_last) when.emplace_back("after the sums over keys");
  if (may_be_first) when.emplace_back("before: weights are normalised");
  std::string note;
  if (may_be_first) {
    how.clear();
    note = may_be_last ? "open whether weights are divided first" : "within the weights";
  } else if (how.empty()) {
    note = "neither the quotient nor the product with the reciprocal fits";
  }
  return {arithmetic_entry("division by the sum", when, "the weights; sums of equal keys"),
          arithmetic_entry("kind of division", how, "sums of equal keys", note)};
}

std::vector<ArithmeticEntry> read_subnormals(Experiments& experiments) {
  const FloatFormat& format = *float_format(experiments.type());
  const double normal = std::ldexp(1, format.minimum_exponent);
  const std::int64_t width = experiments.key_size(16);
  // The mean of the smallest normal number and zero, and that of equal subnormal numbers.
  constexpr std::int64_t keys = Experiments::fewest_keys;
  ProbeMatrix value(keys, 2);
  for (std::int64_t j = 0; j < keys; ++j) {
    value(j, 0) = j % 2 == 0 ? normal : 0;
    value(j, 1) = normal / 2;
  }
  const auto output = experiments.run(ProbeMatrix(1, width), ProbeMatrix(keys, width), value);
  std::vector<std::string> outputs, inputs;
  if (output) {
    const bool kept = output->data[0] == normal / 2;
    experiments.set_flushes_outputs(output->data[0] == 0);
    if (kept || output->data[0] == 0) outputs.emplace_back(kept ? "kept" : "flushed to zero");
    if (kept && output->data[1] == normal / 2) inputs.emplace_back("kept");
    if (kept && output->data[1] == 0) inputs.emplace_back("flushed to zero");
  }
  const std::string why = inputs.empty() ? "shows only where outputs are kept" : "";
  return {arithmetic_entry("subnormal outputs", outputs,
                           "the mean of the smallest normal number and zero"),
          arithmetic_entry("subnormal values", inputs, "the mean of equal subnormal values", why)};
}

}  // namespace gqa
