#include "gqa/diagnose/arithmetic/weight_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "gqa/diagnose/arithmetic/drawn_numbers.hpp"

namespace gqa {
namespace {

constexpr std::array stored_formats{NarrowFormat::binary32,      NarrowFormat::tf32,
                                    NarrowFormat::binary16,      NarrowFormat::bfloat16,
                                    NarrowFormat::float8_e4m3fn, NarrowFormat::float8_e5m2};

// One row of the probe: scores, the value v of the second key and -c of the first, the output.
struct WeightRow {
  double first_score, second_score, value, cancelled, output;
};

// Differences of scores where every format differs from the others: normal numbers of all, and
// subnormal ones of binary16 and e5m2.
std::vector<WeightRow> drawn_rows(NarrowFormat type, NarrowFormat operands, double root) {
  constexpr std::int64_t count = 128;
  DrawnNumbers random(11);
  const auto operand = [&](double x) { return rounded(rounded(x, type), operands); };
  std::vector<WeightRow> rows;
  for (std::int64_t r = 0; r < count; ++r) {
    const double distance = r < count / 2       ? random.uniform(0.2, 6)
                            : r < 3 * count / 4 ? random.uniform(6, 9.2)
                                                : random.uniform(10, 13);
    WeightRow row{};
    row.first_score = r % 4 == 0 ? 16 : 0;
    row.second_score = operand((row.first_score - distance) * root) / root;
    row.value = 0x1p10 * (r % 2 != 0 ? 1.0 : operand(random.uniform(1, 2)));
    row.cancelled = operand(std::exp(row.second_score - row.first_score) * row.value);
    rows.push_back(row);
  }
  return rows;
}

bool ask(Experiments& experiments, std::vector<WeightRow>& rows, std::int64_t width) {
  constexpr std::int64_t keys = Experiments::fewest_keys;
  const double root = std::sqrt(static_cast<double>(width));
  const auto count = static_cast<std::int64_t>(rows.size());
  ProbeMatrix query(count, width), key(keys, width), value(keys, count);
  for (std::int64_t r = 0; r < count; ++r) {
    const WeightRow& row = rows[static_cast<std::size_t>(r)];
    query(r, 0) = row.first_score * root;
    query(r, 1) = row.second_score * root;
    query(r, 2) = -2000 * root;
    value(0, r) = -row.cancelled;
    value(1, r) = row.value;
  }
  for (std::int64_t j = 0; j < keys; ++j) key(j, std::min<std::int64_t>(j, 2)) = 1;
  const auto output = experiments.run(query, key, value);
  if (!output) return false;
  for (std::int64_t r = 0; r < count; ++r)
    rows[static_cast<std::size_t>(r)].output = (*output)(r, r);
  return true;
}

// Within the rounding of the output, and a few roundings of an exponential in binary32.
bool predicts(const Experiments& experiments, const WeightModel& model, const WeightRow& row,
              bool narrow_sums) {
  const NarrowFormat type = experiments.format();
  const double difference =
      rounded(rounded(row.second_score, model.score) - rounded(row.first_score, model.score),
              model.exponential);
  const double exponential = rounded(std::exp(difference), model.exponential);
  const double sum = 1 + exponential;
  const double first = model.normalised ? rounded(1 / sum, model.stored) : 1;
  const double second = rounded(model.normalised ? exponential / sum : exponential, model.stored);
  const double term = second * row.value;
  // Sums in binary16 round every product, or the last one with the sum.
  for (const bool rounds_last : {false, true}) {
    double left = -first * row.cancelled + term;
    if (narrow_sums) {
      const double last = rounds_last ? rounded(term, NarrowFormat::binary16) : term;
      left = rounded(rounded(-first * row.cancelled, NarrowFormat::binary16) + last,
                     NarrowFormat::binary16);
    }
    if (!model.normalised) left /= sum;
    const double smallest = type == NarrowFormat::binary16 ? 0x1p-24 : 0;
    const double allowed =
        1.5 * std::ldexp(std::fabs(left), -precision_of(type)) + smallest + 4e-7 * std::fabs(term);
    const bool flushed = experiments.as_output(left) == 0;
    if (std::fabs(row.output - (flushed ? 0 : left)) <= allowed) return true;
  }
  return false;
}

std::vector<WeightModel> weight_models(NarrowFormat score) {
  std::vector<WeightModel> models;
  for (const NarrowFormat exponential : {NarrowFormat::binary32, NarrowFormat::binary16}) {
    for (const NarrowFormat stored : stored_formats) {
      for (const bool normalised : {false, true}) {
        models.push_back({score, exponential, stored, normalised});
      }
    }
  }
  return models;
}

}  // namespace

std::optional<WeightReading> read_weight_format(Experiments& experiments, const KeySums& sums,
                                                const ScoreSums& scores) {
  const std::int64_t width = experiments.key_size(16);
  if (!is_power_of_four(width)) return std::nullopt;
  const NarrowFormat type = experiments.format();
  std::vector<WeightRow> rows =
      drawn_rows(type, scores.operand_format(type), std::sqrt(static_cast<double>(width)));
  if (!ask(experiments, rows, width)) return std::nullopt;
  const bool narrow_sums = sums.accumulator && sums.accumulator->precision == 11;
  std::vector<std::pair<double, WeightModel>> shares;
  for (const WeightModel& model : weight_models(scores.stored_format())) {
    const auto fitting = std::ranges::count_if(
        rows, [&](const WeightRow& row) { return predicts(experiments, model, row, narrow_sums); });
    shares.emplace_back(static_cast<double>(fitting) / static_cast<double>(rows.size()), model);
  }
  WeightReading reading;
  for (const auto& [share, model] : shares) reading.share = std::max(reading.share, share);
  for (const auto& [share, model] : shares) {
    if (reading.share >= 0.9 && share >= reading.share - 0.005) reading.models.push_back(model);
  }
  return reading;
}

std::vector<ArithmeticEntry> WeightReading::entries() const {
  std::vector<std::string> exponential, stored;
  for (const WeightModel& model : models) {
    exponential.emplace_back(name(model.exponential));
    // An exponential in binary16 is a number of binary16 in every wider format.
    const bool holds_all = precision_of(model.stored) >= precision_of(NarrowFormat::binary16);
    const bool narrow = model.exponential == NarrowFormat::binary16 && holds_all;
    stored.emplace_back(name(narrow ? NarrowFormat::binary16 : model.stored));
  }
  const std::string by = "what a weight leaves beside its nearest number";
  const std::string why =
      models.empty()
          ? fmt::format("no format that is listed predicts 9 of 10 rows; the best {:.0f} %",
                        100 * share)
          : "";
  return {arithmetic_entry("exponential", exponential, by, why),
          arithmetic_entry("stored weights", stored, by, why)};
}

}  // namespace gqa
