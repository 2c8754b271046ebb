#include "gqa/diagnose/measurement.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <ranges>
#include <set>

#include "gqa/diagnose/explanation_search.hpp"
#include "gqa/diagnose/row_keys.hpp"

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

// Including the first and the last.
std::vector<RowPlace> spread_out(const std::vector<RowPlace>& places, std::size_t count) {
  if (places.size() <= count) return places;
  std::vector<RowPlace> chosen;
  for (std::size_t n = 0; n < count; ++n) {
    chosen.push_back(places[n * (places.size() - 1) / (count - 1)]);
  }
  return chosen;
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

// A scale is mostly 1 / sqrt(n) or 1 / n: the measured number is taken for that if it is near.
double tidied(double scale) {
  const double square = 1 / (scale * scale);
  if (square < 1e6 && std::abs(square - std::round(square)) < 1e-3 * square) {
    return 1 / std::sqrt(std::max(std::round(square), 1.0));
  }
  const double whole = std::round(scale);
  return whole >= 1 && std::abs(scale - whole) < 1e-3 * whole ? whole : scale;
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

Fault scale_fault(double scale) {
  return {&measured_scale, 0,
          [scale](Behaviour& behaviour) {
            behaviour.scale = Ball(scale);
            return Edit::changed;
          },
          fmt::format("{:.9g}", scale)};
}

Fault output_factor_fault(double factor) {
  return {&measured_output_factor, 0,
          [factor](Behaviour& behaviour) {
            behaviour.output_factor = Ball(factor);
            return Edit::changed;
          },
          fmt::format("{:.9g}", factor)};
}

// Least squares over the elements of some rows; NaN where nothing is measured.
double quotient_of_outputs(const Behaviour& behaviour, const std::vector<RowPlace>& places) {
  double product = 0;
  double squares = 0;
  for (const RowPlace& place : places) {
    const auto row = evaluate_row<double>(behaviour, place.batch, place.head, place.row);
    for (std::size_t c = 0; c < row.output.size(); ++c) {
      product += row.output[c] * recorded(behaviour, place, static_cast<std::int64_t>(c));
      squares += row.output[c] * row.output[c];
    }
  }
  return product / squares;
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
                                                     std::int64_t rows) {
  const Behaviour& declared = problem.declared;
  std::vector<std::vector<std::int64_t>> fitting;
  for (std::int64_t h = 0; h < declared.query_heads(); ++h) {
    std::vector<std::int64_t>& heads = fitting.emplace_back();
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

std::optional<double> fitting_scale(const DiagnosisCase& problem,
                                    const std::vector<RowPlace>& wrong) {
  const std::vector<RowPlace> places = first_few(wrong, 4);
  if (places.empty()) return std::nullopt;
  Behaviour trial = problem.declared;
  const double declared = trial.scale.midpoint_double();
  const double exponent = best_exponent([&](double e) {
    trial.scale = Ball(declared * std::exp2(e));
    return misfit(trial, places);
  });
  const double measured = declared * std::exp2(exponent);
  for (const double scale : {tidied(measured), measured}) {
    trial.scale = Ball(scale);
    if (all_match(problem, trial, places)) return scale;
  }
  return std::nullopt;
}

std::optional<double> fitting_output_factor(const DiagnosisCase& problem,
                                            const std::vector<RowPlace>& wrong) {
  const std::vector<RowPlace> places = spread_out(wrong, 16);
  const double measured = quotient_of_outputs(problem.declared, places);
  if (!std::isfinite(measured) || measured == 0) return std::nullopt;
  if (all_match(problem, problem.declared, places)) return std::nullopt;
  Behaviour trial = problem.declared;
  for (const double factor : {std::copysign(tidied(std::abs(measured)), measured), measured}) {
    trial.output_factor = Ball(factor);
    if (all_match(problem, trial, places)) return factor;
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

std::vector<Fault> measured_faults(const DiagnosisCase& problem,
                                   const std::vector<RowPlace>& wrong) {
  std::vector<Fault> faults;
  std::vector<std::int64_t> map;
  for (const std::vector<std::int64_t>& heads : fitting_heads(problem)) {
    if (!heads.empty()) map.push_back(heads.front());
  }
  if (map.size() == problem.declared.key_head.size()) faults.push_back(head_map_fault(map));
  if (const auto scale = fitting_scale(problem, wrong)) faults.push_back(scale_fault(*scale));
  if (const auto factor = fitting_output_factor(problem, wrong)) {
    faults.push_back(output_factor_fault(*factor));
  }
  if (const auto range = fitting_range(problem, wrong)) faults.push_back(range_fault(*range));
  return faults;
}

}  // namespace gqa
