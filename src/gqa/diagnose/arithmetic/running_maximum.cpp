#include "gqa/diagnose/arithmetic/running_maximum.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace gqa {
namespace {

// One row per later band: keys [first + n width, first + (n + 1) width) have a coordinate of their
// own. Others are orthogonal to every query.
struct LaterKeys {
  std::int64_t first = 0;
  std::int64_t width = 1;
  std::int64_t count = 0;
};

struct ScopeScores {
  double early;  ///< of key 1
  double late;   ///< of the band
};

using Survivals = std::optional<std::vector<bool>>;

// Of every band: was key 0 weighted before the band was seen? `early_key` scores `scores.early`.
Survivals survivals(Experiments& experiments, std::int64_t total, const LaterKeys& later,
                    const ScopeScores& scores, std::int64_t early_key) {
  const std::int64_t width = experiments.key_size(64);
  const std::int64_t early_axis = width - 1;
  if (later.count > width - 2) return std::nullopt;
  const double unscaled = std::sqrt(static_cast<double>(width));
  ProbeMatrix key(total, width), query(later.count, width), value(total, 1);
  for (std::int64_t j = later.first; j < total; ++j) {
    const std::int64_t band = (j - later.first) / later.width;
    if (band < later.count) key(j, band) = 1;
  }
  for (const std::int64_t j : {std::int64_t{0}, early_key}) {
    for (std::int64_t c = 0; c < width; ++c) key(j, c) = 0;
  }
  key(early_key, early_axis) = 1;
  for (std::int64_t band = 0; band < later.count; ++band) {
    query(band, band) = scores.late * unscaled;
    query(band, early_axis) = scores.early * unscaled;
  }
  value(0, 0) = experiments.type() == ElementType::binary16 ? 0x1p15 : 0x1p100;
  const auto output = experiments.run(query, key, value);
  if (!output || !output->is_finite()) return std::nullopt;
  std::vector<bool> result;
  for (const double x : output->data) result.push_back(x != 0);
  return result;
}

// Is exp(-score) zero as a weight? A key that scores 0 after one that scores `score`. nullopt:
// refused.
std::optional<bool> weight_vanishes(Experiments& experiments, double score) {
  const std::int64_t width = experiments.key_size(64);
  constexpr std::int64_t keys = Experiments::fewest_keys;
  ProbeMatrix key(keys, width), query(1, width), value(keys, 1);
  key(0, 0) = 1;
  query(0, 0) = score * std::sqrt(static_cast<double>(width));
  value(1, 0) = experiments.type() == ElementType::binary16 ? 0x1p15 : 0x1p100;
  const auto output = experiments.run(query, key, value);
  if (!output) return std::nullopt;
  return output->data.front() == 0;
}

// The boundary lies where the output changes from zero for good.
std::optional<std::int64_t> first_survival(const std::vector<bool>& survives) {
  const auto first = std::ranges::find(survives, true);
  if (!std::all_of(first, survives.end(), [](bool x) { return x; })) return std::nullopt;
  return first - survives.begin();
}

// The band before the boundary, key by key.
std::optional<MaximumScope> refined(Experiments& experiments, MaximumScope scope,
                                    const ScopeScores& scores, std::int64_t begin,
                                    std::int64_t width) {
  const LaterKeys keys{std::max<std::int64_t>(2, begin), 1,
                       width + begin - std::max<std::int64_t>(2, begin) + 1};
  const Survivals exact = survivals(experiments, scope.total, keys, scores, 1);
  if (!exact) return std::nullopt;
  const auto first = first_survival(*exact);
  if (!first || *first == static_cast<std::int64_t>(exact->size())) return std::nullopt;
  scope.keys = keys.first + *first;
  if (scope.keys > 2) return scope;
  // A boundary at 1 and one at 2 look alike with key 1 before the band; with key 2 they do not:
  // tiles of one key are rescaled twice by exp(-60), tiles of two once by exp(-120).
  // Weights that hold exp(-120) survive everywhere, whatever the tiles are.
  if (scores.early == 0 || !weight_vanishes(experiments, scores.late).value_or(false)) {
    return std::nullopt;
  }
  const Survivals single = survivals(experiments, scope.total, {3, 1, 1}, scores, 2);
  if (!single) return std::nullopt;
  scope.keys = single->front() ? 1 : 2;
  return scope;
}

}  // namespace

std::optional<MaximumScope> read_maximum_scope(Experiments& experiments, std::int64_t total) {
  const bool narrow = experiments.type() == ElementType::binary16;
  const std::int64_t axes = experiments.key_size(64) - 2;
  std::int64_t width = 8;
  while (width * axes < total / 2 && width < 64) width *= 2;
  const LaterKeys bands{width, width, std::min(axes, total / width - 1)};
  const MaximumScope scope{0, width * (bands.count + 1), total};
  ScopeScores scores = narrow ? ScopeScores{9, 18} : ScopeScores{60, 120};
  Survivals coarse = survivals(experiments, total, bands, scores, 1);
  if (!coarse) return std::nullopt;
  std::optional<std::int64_t> first = first_survival(*coarse);
  if (first && *first == bands.count) {
    // Either no boundary, or weights in which exp(-60) is zero.
    scores = {0, narrow ? 10.0 : 20.0};
    coarse = survivals(experiments, total, bands, scores, 1);
    if (!coarse) return std::nullopt;
    first = first_survival(*coarse);
    if (!first) return std::nullopt;
    // All survive because weights hold exp(-20): then what vanished before did so under one
    // maximum.
    if (*first == 0 && !weight_vanishes(experiments, scores.late).value_or(true)) return scope;
    if (*first == bands.count) return std::nullopt;
  }
  if (!first) return std::nullopt;
  return refined(experiments, scope, scores, *first * width, width);
}

}  // namespace gqa
