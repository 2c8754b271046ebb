#include "gqa/diagnose/measure/measurement.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <ranges>
#include <set>

#include "gqa/diagnose/evaluate/row_keys.hpp"
#include "gqa/diagnose/explain/explanation_search.hpp"
#include "gqa/diagnose/explain/range_ends.hpp"
#include "gqa/diagnose/measure/common_factor.hpp"
#include "gqa/num/arithmetic.hpp"

namespace gqa {
namespace {

// The largest distance of recorded from evaluated elements over some rows.
double misfit(const Behaviour& behaviour, const std::vector<RowPlace>& places) {
  double worst = 0;
  for (const RowPlace& place : places) {
    const auto row = evaluate_row<double>(behaviour, place.batch, place.head, place.row);
    for (std::size_t c = 0; c < row.output.size(); ++c) {
      const double distance =
          std::abs(recorded(behaviour, place, static_cast<std::int64_t>(c)) - row.output[c]);
      if (!(distance <= worst)) worst = distance;
    }
  }
  return worst;
}

bool all_match(const DiagnosisCase& problem, const Behaviour& behaviour,
               const std::vector<RowPlace>& places) {
  return std::ranges::all_of(
      places, [&](const RowPlace& place) { return matches_roughly(problem, behaviour, place); });
}

std::vector<RowPlace> first_few(const std::vector<RowPlace>& places, std::size_t count) {
  return {places.begin(),
          places.begin() + static_cast<std::ptrdiff_t>(std::min(places.size(), count))};
}

std::vector<RowPlace> places_of_head(const Behaviour& behaviour, std::int64_t head,
                                     std::int64_t rows) {
  std::vector<RowPlace> places;
  const std::int64_t count = std::min(rows, behaviour.queries());
  for (std::int64_t b = 0; b < behaviour.batch(); ++b) {
    for (std::int64_t n = 1; n <= count; ++n) {
      places.push_back({b, head, n * behaviour.queries() / count - 1});
    }
  }
  return places;
}

// Minimises over the exponent of a factor of the scale; a grid first, as the misfit has
// several valleys.
double best_exponent(const std::function<double(double)>& cost) {
  double best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (double exponent = -10; exponent <= 10; exponent += 0.125) {
    const double value = cost(exponent);
    if (value < least) {
      least = value;
      best = exponent;
    }
  }
  double low = best - 0.125;
  double high = best + 0.125;
  constexpr double golden = 0.6180339887498949;
  for (int step = 0; step < 60; ++step) {
    const double left = high - golden * (high - low);
    const double right = low + golden * (high - low);
    if (cost(left) < cost(right)) {
      high = right;
    } else {
      low = left;
    }
  }
  return (low + high) / 2;
}

// The elements of some rows under a scale.
std::vector<double> elements_under(Behaviour behaviour, double scale,
                                   const std::vector<RowPlace>& places) {
  behaviour.scale = Ball(scale);
  std::vector<double> elements;
  for (const RowPlace& place : places) {
    const auto row = evaluate_row<double>(behaviour, place.batch, place.head, place.row);
    elements.insert(elements.end(), row.output.begin(), row.output.end());
  }
  return elements;
}

// Least squares from a scale that is nearly right on: Newton's steps with the derivative from
// neighbouring scales, and four robust standard errors.
MeasuredNumber refined_scale(const Behaviour& behaviour, double scale,
                             const std::vector<RowPlace>& places, double roundoff) {
  constexpr int steps = 4;
  constexpr double neighbour = 1e-4;
  std::vector<double> recorded_elements;
  for (const RowPlace& place : places) {
    for (std::int64_t c = 0; c < behaviour.value_size(); ++c) {
      recorded_elements.push_back(recorded(behaviour, place, c));
    }
  }
  double error = 0;
  for (int step = 0; step < steps; ++step) {
    const double width = neighbour * scale;
    const std::vector<double> below = elements_under(behaviour, scale - width, places);
    const std::vector<double> above = elements_under(behaviour, scale + width, places);
    double products = 0, squares = 0;
    std::vector<std::vector<double>> of_rows;
    for (std::size_t i = 0; i < recorded_elements.size(); ++i) {
      const double slope = (above[i] - below[i]) / (2 * width);
      const double residual = recorded_elements[i] - (above[i] + below[i]) / 2;
      products += slope * residual;
      squares += square(slope);
      if (i % extent(behaviour.value_size()) == 0) of_rows.emplace_back();
      of_rows.back().push_back(slope * residual);
    }
    if (!(squares > 0) || !std::isfinite(products / squares)) break;
    scale += std::clamp(products / squares, -scale / 2, scale);
    error = four_standard_errors(of_rows, squares);
  }
  // Scores are rounded themselves: where one row tells the scale, nothing is averaged.
  constexpr double of_scores = 4;
  return {scale, std::max(error, of_scores * roundoff * scale)};
}

// Ranges of keys that explain one row, relative to its position.
std::vector<RelativeRange> ranges_of_row(const DiagnosisCase& problem, const RowPlace& place) {
  Behaviour open = problem.declared;
  open.contract.causal = false;
  open.contract.window = Window{};
  const RowKeys keys = keys_of_row(open, place.batch, place.head, place.row);
  std::vector<RelativeRange> ranges;
  for (std::int64_t first = 0; first < open.keys(); ++first) {
    for (std::int64_t last = first; last < open.keys(); ++last) {
      Behaviour trial = open;
      trial.contract.window = Window{};
      const RelativeRange range{first - keys.position, last - keys.position};
      trial.range_override = {range.first, range.last};
      if (matches_roughly(problem, trial, place)) ranges.push_back(range);
    }
  }
  return ranges;
}

Fault head_map_fault(std::vector<std::int64_t> map) {
  const std::string text = fmt::format("{}", fmt::join(map, ","));
  return {&measured_head_map, 0,
          [map = std::move(map)](Behaviour& behaviour) {
            behaviour.key_head = behaviour.value_head = map;
            return Edit::changed;
          },
          text};
}

// "2: 16 times the declared": a scale that an implementation has dropped shows as the factor.
Fault scale_fault(const MeasuredNumber& scale, const Behaviour& declared) {
  const std::vector<std::int64_t> sizes = sizes_of(declared);
  const double right = declared.scale.midpoint_double();
  const MeasuredNumber factor{scale.value / right, scale.uncertainty / right};
  const std::string text =
      fmt::format("{}: {} times the declared", describe(scale, sizes), describe(factor, sizes));
  Fault fault{&measured_scale, 0,
              [value = scale.value](Behaviour& behaviour) {
                behaviour.scale = Ball(value);
                return Edit::changed;
              },
              text};
  fault.sentence =
      fmt::format("the scores are scaled by {}, {} times the declared {:.6g} ({})",
                  describe(scale, sizes), describe(factor, sizes), right, measured_as(scale));
  return fault;
}

Fault range_fault(const RelativeRange& range) {
  return {&measured_range, 0,
          [range](Behaviour& behaviour) {
            behaviour.range_override = {range.first, range.last};
            return Edit::changed;
          },
          fmt::format("keys p{:+} to p{:+} of position p", range.first, range.last)};
}

// Searching all ranges of all keys is for short histories.
constexpr std::int64_t largest_range_search = 96;

}  // namespace

std::vector<std::vector<std::int64_t>> fitting_heads(const DiagnosisCase& problem,
                                                     const std::vector<RowPlace>& wrong,
                                                     std::int64_t rows) {
  const Behaviour& declared = problem.declared;
  std::vector<std::vector<std::int64_t>> fitting;
  for (std::int64_t h = 0; h < declared.query_heads(); ++h) {
    std::vector<std::int64_t>& heads = fitting.emplace_back();
    const auto& known = problem.audited ? problem.audited->places() : wrong;
    if (problem.audited && std::ranges::find(known, h, &RowPlace::head) == known.end()) {
      heads.push_back(declared.key_head[extent(h)]);
      continue;
    }
    const std::vector<RowPlace> places = places_of_head(declared, h, rows);
    for (std::int64_t kv = 0; kv < declared.key.head_count(); ++kv) {
      Behaviour trial = declared;
      trial.key_head[static_cast<std::size_t>(h)] = kv;
      trial.value_head[static_cast<std::size_t>(h)] = kv;
      if (all_match(problem, trial, places)) heads.push_back(kv);
    }
  }
  return fitting;
}

std::optional<MeasuredNumber> fitting_scale(const DiagnosisCase& problem,
                                            const std::vector<RowPlace>& wrong) {
  const std::vector<RowPlace> few = first_few(wrong, 4);
  if (few.empty()) return std::nullopt;
  Behaviour trial = problem.declared;
  const double declared = trial.scale.midpoint_double();
  const double exponent = best_exponent([&](double e) {
    trial.scale = Ball(declared * std::exp2(e));
    return misfit(trial, few);
  });
  const std::vector<RowPlace> places = spread_out(wrong, 16);
  const double roundoff = std::min(problem.format->unit_roundoff(), 0x1p-24);
  MeasuredNumber measured =
      refined_scale(problem.declared, declared * std::exp2(exponent), places, roundoff);
  // Rows scatter by more than their number suggests: outputs are rounded, not random.
  measured.uncertainty = std::max(measured.uncertainty, 64 * roundoff * std::abs(measured.value));
  std::vector<double> candidates;
  for (const NamedNumber& named : recognised(measured, sizes_of(problem.declared))) {
    candidates.push_back(named.value);
  }
  candidates.push_back(measured.value);
  for (const double scale : candidates) {
    trial.scale = Ball(scale);
    if (!all_match(problem, trial, places)) continue;
    // The name where there is one, with what was measured beside it.
    measured.uncertainty = std::max(measured.uncertainty, std::abs(scale - measured.value));
    measured.value = scale;
    return measured;
  }
  return std::nullopt;
}

std::optional<RelativeRange> fitting_range(const DiagnosisCase& problem,
                                           const std::vector<RowPlace>& wrong) {
  const std::vector<RowPlace> places = spread_out(wrong, 6);
  if (places.empty() || problem.declared.keys() > largest_range_search) return std::nullopt;
  // A row near an end of the history shows that end, not the range's: each end is taken from
  // any of the rows, and all rows have to agree.
  std::set<std::int64_t> firsts, lasts;
  for (const RowPlace& place : places) {
    for (const RelativeRange& range : ranges_of_row(problem, place)) {
      firsts.insert(range.first);
      lasts.insert(range.last);
    }
  }
  Behaviour trial = problem.declared;
  trial.contract.causal = false;
  trial.contract.window = Window{};
  for (const std::int64_t first : firsts | std::views::reverse) {
    for (const std::int64_t last : lasts) {
      trial.range_override = {first, last};
      if (first <= last && all_match(problem, trial, places)) return RelativeRange{first, last};
    }
  }
  return std::nullopt;
}

std::vector<Fault> measured_scales(const DiagnosisCase& problem,
                                   const std::vector<RowPlace>& wrong) {
  const auto scale = fitting_scale(problem, wrong);
  if (!scale) return {};
  return {scale_fault(*scale, problem.declared)};
}

std::vector<Fault> measured_faults(const DiagnosisCase& problem,
                                   const std::vector<RowPlace>& wrong) {
  std::vector<Fault> faults;
  std::vector<std::int64_t> map;
  for (const std::vector<std::int64_t>& heads : fitting_heads(problem, wrong)) {
    if (!heads.empty()) map.push_back(heads.front());
  }
  if (map.size() == problem.declared.key_head.size()) faults.push_back(head_map_fault(map));
  for (Fault& scale : measured_scales(problem, wrong)) faults.push_back(std::move(scale));
  if (auto factor = output_factor_fault(problem, wrong)) faults.push_back(std::move(*factor));
  // A range of which one end is right is not another range.
  std::vector<Fault> ends = moved_range_ends(problem, wrong);
  if (ends.empty()) {
    if (const auto range = fitting_range(problem, wrong)) ends.push_back(range_fault(*range));
  }
  faults.insert(faults.end(), ends.begin(), ends.end());
  return faults;
}

}  // namespace gqa
