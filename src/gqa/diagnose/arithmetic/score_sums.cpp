#include "gqa/diagnose/arithmetic/score_sums.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace gqa {
namespace {

using Numbers = std::vector<double>;

// s1 - s0 of every query row, in units of 1/sqrt(dk); NaN where an output vanishes.
std::optional<Numbers> shown_scores(Experiments& experiments, const ProbeMatrix& query,
                                    const Numbers& odd_key, const Numbers& even_key = {}) {
  constexpr std::int64_t keys = Experiments::fewest_keys;
  const std::int64_t width = query.columns;
  ProbeMatrix key(keys, width), value(keys, 2);
  for (std::int64_t j = 0; j < keys; ++j) {
    const Numbers& row = j % 2 != 0 ? odd_key : even_key;
    for (std::size_t c = 0; c < row.size(); ++c) key(j, static_cast<std::int64_t>(c)) = row[c];
    value(j, j % 2) = 1;
  }
  const auto output = experiments.run(query, key, value);
  if (!output) return std::nullopt;
  Numbers scores;
  for (std::int64_t row = 0; row < query.rows; ++row) {
    scores.push_back(std::log((*output)(row, 1) / (*output)(row, 0)) *
                     std::sqrt(static_cast<double>(width)));
  }
  return scores;
}

// Every key coordinate holds `key`; a unit of the sum is unit * key = 4 (2 in binary16, whose
// numbers end at 65504), so that scores stay small.
struct ScoreUnits {
  double key, large, unit;
};
ScoreUnits score_units(const Experiments& experiments, bool single) {
  if (experiments.type() == ElementType::binary16)
    return {0x1p15, 0x1p15, single ? 0x1p-12 : 0x1p-14};
  return {1, 0x1p40, single ? 8.0 : 4.0};
}

std::vector<PathReading> unread_score_paths(const LeafSet& set) {
  std::vector<PathReading> paths;
  for (const std::int64_t leaf : {0, 1, 5}) {
    paths.push_back(
        {set, leaf, std::vector<std::int64_t>(static_cast<std::size_t>(set.count), set.count)});
    paths.back().sizes[static_cast<std::size_t>(leaf)] = 0;
  }
  return paths;
}

std::optional<std::vector<PathReading>> counted_score_paths(Experiments& experiments,
                                                            const LeafSet& set) {
  const ScoreUnits units = score_units(experiments, false);
  std::vector<PathReading> paths = unread_score_paths(set);
  ProbeMatrix query(3 * (set.count - 1), set.total);
  std::int64_t row = 0;
  for (const PathReading& path : paths) {
    for (std::int64_t n = 0; n < set.count; ++n) {
      if (n == path.leaf) continue;
      for (std::int64_t m = 0; m < set.count; ++m) query(row, m * set.stride) = units.unit;
      query(row, path.leaf * set.stride) = units.large;
      query(row++, n * set.stride) = -units.large;
    }
  }
  const auto scores =
      shown_scores(experiments, query, Numbers(static_cast<std::size_t>(set.total), units.key));
  if (!scores) return std::nullopt;
  std::size_t read = 0;
  for (PathReading& path : paths) {
    for (std::int64_t n = 0; n < set.count; ++n) {
      if (n == path.leaf) continue;
      const double count = (*scores)[read++] / (units.unit * units.key);
      // Truncation adds whole units in the last place of M.
      if (!(count > -0.5 && count < static_cast<double>(set.count) + 0.5))
        return std::vector<PathReading>{};
      path.sizes[static_cast<std::size_t>(n)] = set.count - std::llround(count);
    }
  }
  return paths;
}

// One unit a row: it is outside exactly if the score is one unit.
std::vector<PathReading> single_score_paths(Experiments& experiments, const LeafSet& set) {
  const ScoreUnits units = score_units(experiments, true);
  std::vector<PathReading> paths = unread_score_paths(set);
  ProbeMatrix query(3 * (set.count - 1) * (set.count - 2), set.total);
  std::vector<std::pair<std::size_t, std::size_t>> places;
  for (std::size_t p = 0; p < paths.size(); ++p) {
    for (std::int64_t n = 0; n < set.count; ++n) {
      for (std::int64_t m = 0; m < set.count; ++m) {
        if (n == paths[p].leaf || m == n || m == paths[p].leaf) continue;
        const auto row = static_cast<std::int64_t>(places.size());
        query(row, m * set.stride) = units.unit;
        query(row, paths[p].leaf * set.stride) = units.large;
        query(row, n * set.stride) = -units.large;
        places.emplace_back(p, static_cast<std::size_t>(n));
      }
    }
  }
  const auto scores =
      shown_scores(experiments, query, Numbers(static_cast<std::size_t>(set.total), units.key));
  if (!scores) return {};
  for (std::size_t row = 0; row < places.size(); ++row) {
    const double count = (*scores)[row] / (units.unit * units.key);
    if (std::fabs(count - 1) < 0.4) --paths[places[row].first].sizes[places[row].second];
  }
  return paths;
}

std::vector<PathReading> read_score_paths(Experiments& experiments) {
  const std::int64_t width = experiments.key_size(256);
  std::vector<PathReading> all;
  if (width < 16) return all;
  // The first coordinates, some of every tile of 16 or more, and the first of each sixteenth.
  for (const std::int64_t stride : {std::int64_t{1}, width / 64, width / 16}) {
    if (stride == 0) continue;
    const LeafSet set{width, stride, 16};
    const auto counted = counted_score_paths(experiments, set);
    if (!counted) return {};
    const std::vector<PathReading> paths =
        counted->empty() ? single_score_paths(experiments, set) : *counted;
    if (paths.empty()) return {};
    all.insert(all.end(), paths.begin(), paths.end());
    if (stride == width / 16) break;
  }
  return all;
}

std::optional<Accumulator> score_accumulator(Experiments& experiments,
                                             const std::array<std::int64_t, 4>& leaves) {
  const double key = score_units(experiments, true).key;
  const std::int64_t width = experiments.key_size(256);
  return read_accumulator([&](const std::vector<FourTerms>& rows) {
    // Scores of a few units: 8 of the accumulator's unit is one half at dk = 256.
    ProbeMatrix query(static_cast<std::int64_t>(rows.size()), width);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      for (std::size_t n = 0; n < leaves.size(); ++n) {
        query(static_cast<std::int64_t>(row), leaves[n]) = 2 * rows[row][n] / key;
      }
    }
    auto scores = shown_scores(experiments, query, Numbers(static_cast<std::size_t>(width), key));
    if (scores) {
      for (double& score : *scores) score /= 2;
    }
    return scores;
  });
}

// The largest k up to which a row shows 8, plus one. Rows are k = 1, 2, ...
int largest_shown(const Numbers& scores) {
  int largest = 0;
  for (std::size_t n = 0; n < scores.size(); ++n) {
    if (std::fabs(scores[n] - 8) < 3.2) largest = static_cast<int>(n) + 1;
  }
  return largest + 1;
}

// (A (1 + 2^-k), -A) . (1, 1) with A = 2^(k+3): 8, or 0 if operands have at most k bits.
std::optional<int> read_operand_precision(Experiments& experiments) {
  const std::int64_t width = experiments.key_size(256);
  const int steps = precision_of(experiments.format()) - 1;
  ProbeMatrix query(steps, width);
  for (int k = 1; k <= steps; ++k) {
    query(k - 1, 0) = std::ldexp(1, k + 3) + 8;
    query(k - 1, 1) = -std::ldexp(1, k + 3);
  }
  const auto scores = shown_scores(experiments, query, {1, 1});
  if (!scores) return std::nullopt;
  return largest_shown(*scores);
}

// Scores 2^(k+3) and 2^(k+3) + 8 differ as long as they are stored with more than k bits.
std::optional<int> read_stored_precision(Experiments& experiments) {
  const std::int64_t width = experiments.key_size(256);
  const int steps = experiments.type() == ElementType::binary16 ? 12 : 23;
  ProbeMatrix query(steps, width);
  for (int k = 1; k <= steps; ++k) {
    query(k - 1, 0) = std::ldexp(1, k + 3);
    query(k - 1, 1) = 8;
  }
  const auto scores = shown_scores(experiments, query, {1, 1}, {1});
  if (!scores) return std::nullopt;
  const int shown = largest_shown(*scores);
  return shown > steps ? 24 : shown;
}

// -A (1 + 2^-11) + A (1 + 2^-12) (1 + 2^-12) = A 2^-24: lost where the product is rounded first.
std::optional<bool> read_fused_products(Experiments& experiments, std::int64_t sibling) {
  if (experiments.type() != ElementType::binary32) return std::nullopt;
  const std::int64_t width = experiments.key_size(256);
  ProbeMatrix query(1, width);
  Numbers key(static_cast<std::size_t>(width));
  query(0, 0) = -0x1p27 * (1 + 0x1p-11);
  query(0, sibling) = 0x1p27 * (1 + 0x1p-12);
  key[0] = 1;
  key[static_cast<std::size_t>(sibling)] = 1 + 0x1p-12;
  const auto scores = shown_scores(experiments, query, key);
  if (!scores) return std::nullopt;
  return std::fabs(scores->front() - 8) < 3.2;
}

}  // namespace

ScoreSums read_score_sums(Experiments& experiments) {
  ScoreSums sums;
  sums.paths = read_score_paths(experiments);
  if (!sums.paths.empty()) {
    const std::int64_t width = sums.paths.front().set.total;
    for (const SumOrder& order : sum_orders(width, {8, 16, 32, 64, 128, 0}, false)) {
      if (!is_named_otherwise(order, width) && agrees(order, sums.paths))
        sums.orders.push_back(order);
    }
  }
  if (!sums.orders.empty()) {
    const auto leaves = telling_terms(sums.orders.front(), sums.paths.front().set.total);
    sums.sibling = leaves[1];
    sums.accumulator = score_accumulator(experiments, leaves);
  }
  sums.operand_precision = read_operand_precision(experiments);
  sums.stored_precision = read_stored_precision(experiments);
  const bool in_turn =
      !sums.orders.empty() && std::ranges::all_of(sums.orders, [](const SumOrder& order) {
        return order.inner == InnerOrder::sequential || order.inner == InnerOrder::lanes ||
               order.inner == InnerOrder::tile_sum;
      });
  const bool whole_operands = sums.operand_precision == 24;
  if (in_turn && whole_operands) {
    sums.fused_products = read_fused_products(experiments, sums.sibling);
  }
  return sums;
}

NarrowFormat ScoreSums::operand_format(NarrowFormat type) const {
  if (operand_precision == 8) return NarrowFormat::bfloat16;
  if (operand_precision == 11 && type == NarrowFormat::binary32) return NarrowFormat::tf32;
  return type;
}

NarrowFormat ScoreSums::stored_format() const {
  if (stored_precision == 8) return NarrowFormat::bfloat16;
  if (stored_precision == 11) return NarrowFormat::binary16;
  return NarrowFormat::binary32;
}

std::vector<ArithmeticEntry> ScoreSums::entries(NarrowFormat type) const {
  const std::string refused = "the kernel refused the probe, or scores do not show";
  std::string why;
  if (orders.empty()) {
    why = paths.empty() ? refused
                        : "no order that is listed; added along the way from coordinate 0: " +
                              path_text(paths.front());
  }
  std::vector<std::string> order, format, rounding, products, operands, stored;
  for (const SumOrder& fitting : orders) {
    const bool tiled = fitting.tile > 0 && fitting.inner != InnerOrder::sequential &&
                       fitting.inner != InnerOrder::fused;
    order.push_back(describe_inner(fitting) +
                    (tiled ? fmt::format(", tiles of {}", fitting.tile) : ""));
  }
  if (accumulator) {
    format.push_back(accumulator->format_text());
    if (accumulator->rounding != AccumulatorRounding::unknown) {
      rounding.emplace_back(name(accumulator->rounding));
    }
  }
  if (fused_products)
    products.emplace_back(*fused_products ? "fused into the sum" : "rounded first");
  if (operand_precision && *operand_precision > 1) {
    const int bits = *operand_precision;
    operands.push_back(bits == precision_of(type) ? fmt::format("{}, as given", name(type))
                       : bits == 11               ? "11 bits (TF32 or binary16)"
                       : bits == 8                ? "8 bits (bfloat16)"
                                                  : fmt::format("{} bits", bits));
  }
  if (stored_precision && *stored_precision > 1) {
    const int bits = *stored_precision;
    stored.push_back(bits == 24 ? (type == NarrowFormat::binary16 ? "at least 13 bits" : "binary32")
                     : bits == 11 ? "11 bits (binary16 or TF32)"
                     : bits == 8  ? "8 bits (bfloat16)"
                                  : fmt::format("{} bits", bits));
  }
  const std::string by = "two kinds of keys, one score a row";
  return {arithmetic_entry("sums over dk", order, by + ", large products that cancel", why),
          arithmetic_entry("accumulator over dk", format, by + ", four products", why),
          arithmetic_entry("rounding over dk", rounding, by + ", four products", why),
          arithmetic_entry(
              "products q k", products, by,
              products.empty() ? "shows in binary32 only, where products are added in turn" : ""),
          arithmetic_entry("operands q, k", operands, by + ", neighbouring operands",
                           operands.empty() ? refused : ""),
          arithmetic_entry("stored scores", stored, by + ", neighbouring scores",
                           stored.empty() ? refused : "")};
}

}  // namespace gqa
