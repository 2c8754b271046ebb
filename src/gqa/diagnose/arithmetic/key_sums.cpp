#include "gqa/diagnose/arithmetic/key_sums.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "gqa/diagnose/arithmetic/key_paths.hpp"

namespace gqa {
namespace {

// Does the order allow a boundary of the running maximum there?
bool allows(const KeyOrder& order, const MaximumScope& scope) {
  const std::int64_t length = order.sums.part_length(scope.total);
  const std::int64_t tile = order.sums.tile > 0 ? std::min(order.sums.tile, length) : length;
  const std::int64_t expected = order.running ? tile : scope.total;
  return scope.keys > 0 ? expected == scope.keys : expected >= scope.searched;
}

std::vector<KeyOrder> fitting_orders(const KeySums& sums) {
  if (sums.paths.empty()) return {};
  const std::int64_t total = sums.paths.front().set.total;
  std::vector<std::int64_t> tiles{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 0};
  for (const MaximumScope& scope : sums.scopes) {
    if (scope.keys > 0 && std::ranges::find(tiles, scope.keys) == tiles.end()) {
      tiles.push_back(scope.keys);
    }
  }
  std::vector<KeyOrder> fitting;
  for (const SumOrder& order : sum_orders(total, tiles, true)) {
    std::vector<KeyOrder> ways;
    for (const bool running : {true, false}) {
      if (!running && is_named_otherwise(order, total)) continue;
      const KeyOrder way{order, running};
      const bool fits = std::ranges::all_of(
          sums.scopes, [&](const MaximumScope& scope) { return allows(way, scope); });
      if (fits) ways.push_back(way);
    }
    if (!ways.empty() && agrees(order, sums.paths)) {
      fitting.insert(fitting.end(), ways.begin(), ways.end());
    }
  }
  return fitting;
}

// Do the fitting orders differ in the tile behind the same boundary? Then more keys tell.
bool tile_is_hidden(const std::vector<KeyOrder>& orders) {
  return std::ranges::any_of(orders, [&](const KeyOrder& order) {
    return order.running && order.sums.tile != orders.front().sums.tile;
  });
}

std::optional<Accumulator> accumulator_at(Experiments& experiments, std::int64_t total,
                                          const std::array<std::int64_t, 4>& keys) {
  const double unit = experiments.type() == ElementType::binary16 ? 0x1p-14 : 1;
  return read_accumulator([&](const std::vector<FourTerms>& rows) {
    ProbeMatrix value(total, static_cast<std::int64_t>(rows.size()));
    for (std::size_t column = 0; column < rows.size(); ++column) {
      for (std::size_t n = 0; n < keys.size(); ++n) {
        value(keys[n], static_cast<std::int64_t>(column)) = rows[column][n] * unit;
      }
    }
    return experiments.equal_weight_sums(value, unit);
  });
}

// Whole rows count as one tile if they are one part.
bool has_tiles(const KeyOrder& order, std::int64_t total) {
  const SumOrder& sums = order.sums;
  const bool in_tree = sums.inner == InnerOrder::tile_sum || sums.inner == InnerOrder::pairwise ||
                       sums.inner == InnerOrder::lanes;
  return (order.running || in_tree) && sums.tile > 0 && sums.tile < total;
}

std::string tile_text(const KeyOrder& order, std::int64_t total) {
  if (has_tiles(order, total)) return fmt::format("{} keys", order.sums.tile);
  return order.running && order.sums.part_length(total) < total ? "one a split" : "none";
}

std::string maximum_text(const KeyOrder& order, std::int64_t total) {
  if (!order.running) return "of whole rows";
  if (has_tiles(order, total)) return "tile by tile";
  return order.sums.part_length(total) < total ? "split by split" : "of whole rows";
}

std::string parts_text(const SumOrder& sums, std::int64_t total) {
  if (sums.part_size > 0) return fmt::format("one for every {} keys", sums.part_size);
  return fmt::format("{}", std::max<std::int64_t>(1, std::min(sums.parts, total)));
}

bool tree_shows_tile(const std::vector<KeyOrder>& orders) {
  return std::ranges::all_of(orders, [](const KeyOrder& order) {
    return order.sums.inner != InnerOrder::sequential && order.sums.inner != InnerOrder::fused;
  });
}

}  // namespace

KeySums read_key_sums(Experiments& experiments) {
  KeySums sums;
  if (experiments.type() == ElementType::binary16 && experiments.flushes_outputs()) {
    sums.reason = "outputs that are flushed to zero hide the counts, which are subnormal";
    return sums;
  }
  sums.paths = read_key_paths(experiments);
  const std::int64_t total = experiments.keys(1024);
  if (const auto scope = read_maximum_scope(experiments, total)) sums.scopes.push_back(*scope);
  sums.orders = fitting_orders(sums);
  // Below one tile a split the boundary is the split's.
  if (!sums.scopes.empty() && tile_is_hidden(sums.orders) && experiments.keys(4 * total) > total) {
    if (const auto scope = read_maximum_scope(experiments, 4 * total)) {
      sums.scopes.push_back(*scope);
      sums.orders = fitting_orders(sums);
    }
  }
  // A tree that no order explains has no siblings to ask at.
  if (sums.orders.empty()) return sums;
  const auto keys = telling_terms(sums.orders.front().sums, total);
  sums.accumulator = accumulator_at(experiments, total, keys);
  const bool fused = std::ranges::all_of(
      sums.orders, [](const KeyOrder& order) { return order.sums.inner == InnerOrder::fused; });
  if (fused && sums.orders.front().sums.width >= 4) {
    const auto inside = accumulator_at(experiments, total, {0, 1, 3, 2});
    if (inside) sums.fused_precision = inside->precision;
  }
  return sums;
}

std::vector<ArithmeticEntry> KeySums::entries() const {
  const std::string by_tree = "equal scores, large values that cancel";
  std::string why;
  if (orders.empty()) {
    why = !reason.empty() ? reason
          : paths.empty() ? "the sums could not be read"
                          : "no order that is listed; added along the way from key 0: " +
                                path_text(paths.front());
  }
  std::vector<std::string> inner, tiles, maxima, parts, merges;
  const std::int64_t total = paths.empty() ? 0 : paths.front().set.total;
  for (const KeyOrder& order : orders) {
    inner.push_back(describe_inner(order.sums));
    tiles.push_back(tile_text(order, total));
    maxima.push_back(maximum_text(order, total));
    parts.push_back(parts_text(order.sums, total));
    merges.push_back(describe_merge(order.sums, total));
  }
  std::string maximum_why = why;
  if (!orders.empty() && scopes.empty()) {
    maximum_why = "weights hold too much or too little for a running maximum to show";
    maxima.clear();
    if (!tree_shows_tile(orders)) tiles.clear();
  }
  std::vector<std::string> format, rounding;
  if (accumulator) {
    format.push_back(accumulator->format_text());
    if (accumulator->rounding != AccumulatorRounding::unknown) {
      rounding.emplace_back(name(accumulator->rounding));
    }
  }
  const std::string inside =
      fused_precision ? fmt::format("{} bits inside a fused block", *fused_precision) : "";
  const std::string by_cancelling = "equal scores, four values";
  return {arithmetic_entry("sums over keys", inner, by_tree, why),
          arithmetic_entry("tile of keys", tiles, by_tree + "; the running maximum",
                           tiles.empty() ? maximum_why : why),
          arithmetic_entry("maximum of the scores", maxima, "scores that rise along the row",
                           maximum_why),
          arithmetic_entry("splits of the keys", parts, by_tree, why),
          arithmetic_entry("merge of the splits", merges, by_tree, why),
          arithmetic_entry("accumulator over keys", format, by_cancelling,
                           orders.empty() ? why : inside),
          arithmetic_entry("rounding over keys", rounding, by_cancelling, why)};
}

}  // namespace gqa
