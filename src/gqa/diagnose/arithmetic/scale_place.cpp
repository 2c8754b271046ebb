#include "gqa/diagnose/arithmetic/scale_place.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <set>

#include "gqa/diagnose/arithmetic/drawn_numbers.hpp"

namespace gqa {
namespace {

double to_float(double x) {
  return rounded(x, NarrowFormat::binary32);
}

// What the kernel was found to do so far.
struct KnownArithmetic {
  NarrowFormat type, operands;
  WeightModel weights;
  SumRounding product_rounding;
  bool narrow_sums;  // over keys, in binary16
  std::int64_t width;

  double scale() const { return to_float(1 / std::sqrt(static_cast<double>(width))); }
  double operand(double x) const { return rounded(rounded(x, type), operands); }
  double product(double x) const { return rounded(x, NarrowFormat::binary32, product_rounding); }
};

// A score is the product of one query coordinate -g with one key coordinate k.
struct Argument {
  double query, key;
  std::int64_t axis;
};

double modelled_score(const KnownArithmetic& known, ScalePlace place, const Argument& x) {
  const double scale = known.scale();
  const NarrowFormat stored = known.weights.score;
  switch (place) {
    case ScalePlace::query:
      return rounded(known.product(known.operand(x.query * scale) * x.key), stored);
    case ScalePlace::both: {
      const double root = to_float(std::sqrt(1 / std::sqrt(static_cast<double>(known.width))));
      const double query = known.operand(x.query * root);
      return rounded(known.product(query * known.operand(x.key * root)), stored);
    }
    case ScalePlace::score: {
      const double raw = rounded(known.product(x.query * x.key), stored);
      return rounded(to_float(raw * scale), stored);
    }
    case ScalePlace::exponent_factor:
      break;
  }
  return rounded(known.product(x.query * x.key), stored);
}

double modelled_output(const Experiments& experiments, const KnownArithmetic& known,
                       const ScaleModel& model, const Argument& x) {
  const double log2e = to_float(std::numbers::log2e);
  const double score = modelled_score(known, model.place, x);
  double weight = 0;
  if (model.place == ScalePlace::exponent_factor) {
    weight = std::exp2(to_float(score * to_float(known.scale() * log2e)));
  } else if (model.base_two) {
    weight = std::exp2(to_float(score * log2e));
  } else {
    weight = std::exp(rounded(score, known.weights.exponential));
  }
  weight = rounded(weight, known.weights.exponential);
  const double sum = 1 + weight;
  const bool first = known.weights.normalised;
  double term = rounded(first ? to_float(weight / sum) : weight, known.weights.stored);
  if (known.narrow_sums) term = rounded(term, NarrowFormat::binary16);
  const double output = first ? term : to_float(term / sum);
  return experiments.as_output(output);
}

// The largest -score at which the stored weight is a normal number.
double largest_distance(const KnownArithmetic& known) {
  switch (known.weights.stored) {
    case NarrowFormat::float8_e4m3fn:
    case NarrowFormat::float8_e5m2:
      return 5;
    case NarrowFormat::binary16:
      return 9;
    default:
      return known.type == NarrowFormat::binary16 ? 9 : 80;
  }
}

constexpr std::array scale_models{
    ScaleModel{ScalePlace::query, false},         ScaleModel{ScalePlace::query, true},
    ScaleModel{ScalePlace::both, false},          ScaleModel{ScalePlace::both, true},
    ScaleModel{ScalePlace::score, false},         ScaleModel{ScalePlace::score, true},
    ScaleModel{ScalePlace::exponent_factor, true}};

using ModelOutputs = std::vector<std::array<double, scale_models.size()>>;

std::vector<Argument> drawn_arguments(const KnownArithmetic& known) {
  constexpr std::int64_t count = 40000;
  DrawnNumbers random(12);
  std::vector<double> key(static_cast<std::size_t>(known.width));
  for (double& k : key) k = known.operand(random.uniform(1, 2));
  std::vector<Argument> all;
  for (std::int64_t n = 0; n < count; ++n) {
    const std::int64_t axis = 2 + random.below(known.width - 2);
    const double k = key[static_cast<std::size_t>(axis)];
    const double distance = random.uniform(0.3, 1) * largest_distance(known);
    all.push_back({-known.operand(distance / known.scale() / k), k, axis});
  }
  return all;
}

// The twelve arguments of each two models at which they lie farthest apart.
std::vector<std::size_t> telling_arguments(const ModelOutputs& outputs) {
  std::set<std::size_t> chosen;
  for (std::size_t a = 0; a < scale_models.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      std::vector<std::pair<double, std::size_t>> distances;
      for (std::size_t n = 0; n < outputs.size(); ++n) {
        const double size = std::max(std::fabs(outputs[n][a]), 1e-300);
        const double distance = std::fabs(outputs[n][a] - outputs[n][b]) / size;
        if (distance > 1e-6) distances.emplace_back(-distance, n);
      }
      const std::size_t few = std::min<std::size_t>(12, distances.size());
      std::partial_sort(distances.begin(), distances.begin() + static_cast<std::ptrdiff_t>(few),
                        distances.end());
      for (std::size_t n = 0; n < few; ++n) chosen.insert(distances[n].second);
    }
  }
  return {chosen.begin(), chosen.end()};
}

std::optional<std::vector<double>> asked_outputs(Experiments& experiments,
                                                 const KnownArithmetic& known,
                                                 const std::vector<Argument>& arguments) {
  constexpr std::int64_t keys = Experiments::fewest_keys;
  const auto count = static_cast<std::int64_t>(arguments.size());
  ProbeMatrix query(count, known.width), key(keys, known.width), value(keys, 2);
  for (std::int64_t n = 0; n < count; ++n) {
    const Argument& x = arguments[static_cast<std::size_t>(n)];
    query(n, 0) = -9500;  // the other keys: far below
    query(n, x.axis) = x.query;
    key(1, x.axis) = x.key;
  }
  for (std::int64_t j = 2; j < keys; ++j) key(j, 0) = 1;
  value(0, 0) = 1;
  value(1, 1) = 1;
  const auto output = experiments.run(query, key, value);
  if (!output) return std::nullopt;
  std::vector<double> result;
  for (std::int64_t n = 0; n < count; ++n) result.push_back((*output)(n, 1));
  return result;
}

}  // namespace

std::string_view name(ScalePlace place) {
  switch (place) {
    case ScalePlace::query:
      return "on q";
    case ScalePlace::both:
      return "its square root on q and k";
    case ScalePlace::score:
      return "on the score";
    case ScalePlace::exponent_factor:
      break;
  }
  return "with log2 e in the exponent";
}

std::optional<ScaleReading> read_scale_place(Experiments& experiments, const WeightModel& weights,
                                             const KeySums& sums, const ScoreSums& scores) {
  const NarrowFormat type = experiments.format();
  const SumRounding rounding =
      scores.accumulator ? scores.accumulator->sum_rounding() : SumRounding::to_nearest;
  const bool narrow_sums = sums.accumulator && sums.accumulator->precision == 11;
  const KnownArithmetic known{type,        scores.operand_format(type), weights, rounding,
                              narrow_sums, experiments.key_size(96)};
  const std::vector<Argument> drawn = drawn_arguments(known);
  ModelOutputs outputs(drawn.size());
  for (std::size_t n = 0; n < drawn.size(); ++n) {
    for (std::size_t m = 0; m < scale_models.size(); ++m) {
      outputs[n][m] = modelled_output(experiments, known, scale_models[m], drawn[n]);
    }
  }
  const std::vector<std::size_t> chosen = telling_arguments(outputs);
  ScaleReading reading;
  if (chosen.empty()) {
    reading.models.assign(scale_models.begin(), scale_models.end());
    return reading;
  }
  std::vector<Argument> asked;
  for (const std::size_t n : chosen) asked.push_back(drawn[n]);
  const auto answers = asked_outputs(experiments, known, asked);
  if (!answers) return std::nullopt;
  std::array<double, scale_models.size()> shares{};
  for (std::size_t m = 0; m < scale_models.size(); ++m) {
    for (std::size_t n = 0; n < chosen.size(); ++n) {
      const double answer = (*answers)[n];
      const bool fits = std::fabs(answer - outputs[chosen[n]][m]) <= 5e-7 * std::fabs(answer);
      shares[m] += (fits ? 1.0 : 0.0) / static_cast<double>(chosen.size());
    }
    reading.share = std::max(reading.share, shares[m]);
  }
  for (std::size_t m = 0; m < scale_models.size(); ++m) {
    if (reading.share >= 0.8 && shares[m] >= reading.share - 0.01)
      reading.models.push_back(scale_models[m]);
  }
  return reading;
}

std::vector<ArithmeticEntry> ScaleReading::entries() const {
  std::vector<std::string> places, bases;
  for (const ScaleModel& model : models) {
    places.emplace_back(name(model.place));
    bases.emplace_back(model.base_two ? "2" : "e");
  }
  const std::string by = "arguments at which the ways to compute exp(scale s) differ most";
  const std::string why =
      !models.empty() ? ""
      : share == 0
          ? "the weights are not known, or the kernel refused the probe"
          : fmt::format("no way that is listed predicts 4 of 5 arguments; the best {:.0f} %",
                        100 * share);
  return {arithmetic_entry("place of the scale", places, by, why),
          arithmetic_entry("base of the exponential", bases, by, why)};
}

}  // namespace gqa
