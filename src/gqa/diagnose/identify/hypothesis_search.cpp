#include "gqa/diagnose/identify/hypothesis_search.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

#include "gqa/diagnose/identify/band_scan.hpp"
#include "gqa/num/arithmetic.hpp"

namespace gqa::identification {
namespace {

struct Features {
  bool softcap = false;
  bool alibi = false;
  bool sink = false;
};

Features features_of(SearchStage stage) {
  Features features;
  features.softcap = stage == SearchStage::softcap || stage == SearchStage::alibi_softcap ||
                     stage == SearchStage::sink_softcap;
  features.alibi = stage == SearchStage::alibi || stage == SearchStage::alibi_softcap ||
                   stage == SearchStage::sink_alibi;
  features.sink = stage == SearchStage::sink || stage == SearchStage::sink_softcap ||
                  stage == SearchStage::sink_alibi;
  return features;
}

double largest_product(std::span<const SearchRow> rows) {
  double largest = 0;
  for (const SearchRow& row : rows) {
    for (const double product : row.products) largest = std::max(largest, std::abs(product));
  }
  return largest;
}

std::vector<ScoreRule> score_rules(std::span<const SearchRow> rows, const Features& features,
                                   const SearchSettings& settings) {
  std::vector<double> scales{settings.scale};
  constexpr int octaves = 10;
  for (int half = -2 * octaves; half <= 2 * octaves; ++half) {
    if (half != 0) scales.push_back(settings.scale * std::exp2(half / 2.0));
  }
  // A cap far above the scores is found by the fit.
  std::vector<double> caps{0};
  if (features.softcap) caps = {2, 1, 0.5, 0.25, 0.1};
  const double largest = largest_product(rows);
  std::vector<ScoreRule> rules;
  for (const double scale : scales) {
    for (const double cap : caps) {
      ScoreRule rule;
      rule.scale = scale;
      if (cap > 0 && largest > 0) rule.curvature = 1 / square(cap * scale * largest);
      if (features.alibi) rule.slope = settings.slope;
      rules.push_back(rule);
    }
  }
  return rules;
}

// The score rules that fit best by ranges of one number, for those that cost more to find.
std::vector<std::size_t> best_rules(const std::vector<std::vector<ScannedRange>>& scanned) {
  constexpr std::size_t most_rules = 8;
  std::vector<std::size_t> order(scanned.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&scanned](std::size_t i) {
    double least = 1;
    for (const ScannedRange& range : scanned[i]) least = std::min(least, range.misfit);
    return least;
  });
  order.resize(std::min(order.size(), most_rules));
  return order;
}

// Bands, and lengths under ALiBi.
void scan_further(std::span<const SearchRow> rows, const std::vector<ScoreRule>& scores,
                  std::span<const CausalAlignment> alignments, bool free_sink,
                  std::vector<std::vector<ScannedRange>>& scanned) {
  const std::vector<std::size_t> order = best_rules(scanned);
  tbb::parallel_for(std::size_t{0}, order.size(), [&](std::size_t n) {
    const std::size_t i = order[n];
    const auto bands = scan_bands(rows, scores[i], alignments, free_sink);
    scanned[i].insert(scanned[i].end(), bands.begin(), bands.end());
    if (!lengths_move_weights(rows, scores[i])) return;
    RangeRule rule;
    rule.alignment = alignments.front();
    const ScannedRange best = scan_lengths(rows, scores[i], rule, free_sink);
    if (best.rule.length != rows.front().keys()) scanned[i].push_back(best);
  });
}

using RangeKey = std::pair<RangeKind, CausalAlignment>;

RangeKey key_of(const ScannedRange& scanned) {
  return {scanned.kind, scanned.rule.alignment};
}

// The best two starts of each kind of range, the better kinds first.
std::vector<Hypothesis> starting_points(const std::vector<std::vector<ScannedRange>>& scanned,
                                        const std::vector<ScoreRule>& scores, std::size_t count) {
  std::map<RangeKey, std::vector<Hypothesis>> of_kind;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    for (const ScannedRange& range : scanned[i]) {
      if (range.misfit >= 1) continue;
      of_kind[key_of(range)].push_back({range.rule, scores[i], range.misfit});
    }
  }
  constexpr std::size_t of_each = 2;
  std::vector<Hypothesis> starts;
  for (auto& [key, all] : of_kind) {
    std::ranges::stable_sort(all, {}, &Hypothesis::misfit);
    all.resize(std::min(all.size(), of_each));
    starts.insert(starts.end(), all.begin(), all.end());
  }
  std::ranges::stable_sort(starts, {}, &Hypothesis::misfit);
  starts.resize(std::min(starts.size(), count));
  return starts;
}

// The same kind of range again under numbers that have been fitted.
RangeRule range_again(const Hypothesis& hypothesis, RangeKind kind,
                      std::span<const SearchRow> rows) {
  const CausalAlignment alignment = hypothesis.range.alignment;
  if (kind == RangeKind::length && lengths_move_weights(rows, hypothesis.score)) {
    return scan_lengths(rows, hypothesis.score, hypothesis.range, false).rule;
  }
  const auto scan = kind == RangeKind::band ? scan_bands : scan_ranges;
  const auto scanned = scan(rows, hypothesis.score, std::span(&alignment, 1), false);
  for (const ScannedRange& range : scanned) {
    if (range.kind == kind && range.misfit < 1) return range.rule;
  }
  return hypothesis.range;
}

FittedHypothesis fitted(Hypothesis start, std::span<const SearchRow> rows,
                        const FreeNumbers& free) {
  constexpr int rounds = 3;
  FittedHypothesis best = fit_numbers(start, rows, free);
  for (int round = 0; round < rounds; ++round) {
    const RangeRule range = range_again(best.hypothesis, kind_of(best.hypothesis.range), rows);
    if (range == best.hypothesis.range) break;
    Hypothesis next = best.hypothesis;
    next.range = range;
    FittedHypothesis tried = fit_numbers(next, rows, free);
    if (!(tried.hypothesis.misfit < best.hypothesis.misfit)) break;
    best = std::move(tried);
  }
  return best;
}

// A softcap or a sink that may as well not be there is none; the fit without it stands beside.
bool says_what_it_has(const FittedHypothesis& fit) {
  return !(fit.curvature && !(fit.curvature->value > fit.curvature->uncertainty)) &&
         !(fit.sink && !(fit.sink->value > fit.sink->uncertainty));
}

}  // namespace

int rule_cost(const FittedHypothesis& fitted, const SearchSettings& settings) {
  const Hypothesis& h = fitted.hypothesis;
  const auto count = [](bool is_there) { return is_there ? 1 : 0; };
  const int sides = count(h.range.window.left >= 0) + count(h.range.window.right >= 0);
  const bool positions_matter = h.range.causal || sides > 0 || h.score.slope.has_value();
  return count(h.range.causal) + (sides > 0 ? 1 + 2 * sides : 0) +
         count(positions_matter && h.range.alignment != settings.alignment) +
         2 * count(h.range.length.has_value()) + count(h.score.curvature > 0) +
         count(h.score.slope.has_value()) + count(h.score.sink.has_value()) +
         count(!fitted.scale.allows(settings.scale));
}

std::vector<FittedHypothesis> search_stage(std::span<const SearchRow> rows, SearchStage stage,
                                           const SearchSettings& settings, double roundoff) {
  std::vector<FittedHypothesis> found;
  if (rows.empty()) return found;
  const Features features = features_of(stage);
  const std::vector<ScoreRule> scores = score_rules(rows, features, settings);
  const std::vector<CausalAlignment> alignments = alignments_of(rows.front(), settings.alignment);
  std::vector<std::vector<ScannedRange>> scanned(scores.size());
  tbb::parallel_for(std::size_t{0}, scores.size(), [&](std::size_t i) {
    scanned[i] = scan_ranges(rows, scores[i], alignments, features.sink);
  });
  scan_further(rows, scores, alignments, features.sink, scanned);
  const std::vector<Hypothesis> starts = starting_points(scanned, scores, settings.fitted);
  // A weak softcap is found from none on, beside the fit without one.
  const bool also_capped = !features.softcap;
  std::vector<std::optional<FittedHypothesis>> fits(2 * starts.size());
  tbb::parallel_for(std::size_t{0}, starts.size(), [&](std::size_t i) {
    fits[2 * i] = fitted(starts[i], rows, {features.softcap, features.sink});
    // From the numbers that fit without it: far from them a first step may leave no softcap at all.
    if (also_capped) {
      fits[2 * i + 1] = fitted(fits[2 * i]->hypothesis, rows, {true, features.sink});
    }
  });
  for (auto& fit : fits) {
    if (fit && says_what_it_has(*fit)) found.push_back(std::move(*fit));
  }
  // To rounding all fit alike.
  const double noise = square(8 * std::max(roundoff, 0x1p-24));
  const auto order = [&](const FittedHypothesis& fit) {
    return std::tuple(std::lround(std::log10(std::max(fit.hypothesis.misfit, noise))),
                      rule_cost(fit, settings), fit.hypothesis.misfit);
  };
  std::ranges::stable_sort(found, {}, order);
  return found;
}

}  // namespace gqa::identification
