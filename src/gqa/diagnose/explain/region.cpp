#include "gqa/diagnose/explain/region.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

namespace gqa {
namespace {

std::vector<IndexRange> runs_of(const std::vector<std::int64_t>& touched) {
  std::vector<IndexRange> runs;
  for (const std::int64_t index : touched) {
    if (!runs.empty() && runs.back().last + 1 == index) {
      runs.back().last = index;
    } else {
      runs.push_back({index, index});
    }
  }
  return runs;
}

// Every second tile, each one touched in an eighth of its rows or more, the last one as it may be.
std::optional<TilePattern> tile_pattern(const std::vector<std::int64_t>& touched,
                                        std::int64_t extent) {
  constexpr std::array<std::int64_t, 4> sizes{128, 64, 32, 16};
  constexpr std::int64_t every = 2;
  for (const std::int64_t tile : sizes) {
    const std::int64_t tiles = (extent + tile - 1) / tile;
    std::vector<std::int64_t> counts(static_cast<std::size_t>(tiles), 0);
    for (const std::int64_t index : touched) ++counts[static_cast<std::size_t>(index / tile)];
    for (std::int64_t first = 0; first < every; ++first) {
      std::int64_t full = 0;
      bool fits = true;
      for (std::int64_t t = 0; t < tiles; ++t) {
        const std::int64_t count = counts[static_cast<std::size_t>(t)];
        const bool is_in = t % every == first;
        const bool is_full = 8 * count >= std::min(tile, extent - t * tile);
        fits = fits && (is_in ? is_full || t == 0 || t + 1 == tiles : count == 0);
        full += is_in && is_full ? 1 : 0;
      }
      if (fits && full >= 2) return TilePattern{tile, every, first};
    }
  }
  return std::nullopt;
}

std::optional<IndexSet> axis_of(const WrongRows& wrong, std::int64_t RowPlace::*axis,
                                std::int64_t extent, std::size_t most_ranges, bool may_be_tiled) {
  std::set<std::int64_t> touched;
  for (const RowPlace& place : wrong.places()) touched.insert(place.*axis);
  return covering_set({touched.begin(), touched.end()}, extent, most_ranges, may_be_tiled);
}

constexpr AxisWords batch_entry_words{"batch entry", "batch entries"};
constexpr AxisWords batch_words{"batch", "batches"};
constexpr AxisWords head_words{"head", "heads"};
constexpr AxisWords query_head_words{"query head", "query heads"};
constexpr AxisWords row_words{"row", "rows"};
constexpr AxisWords column_words{"column", "columns"};

}  // namespace

bool IndexSet::contains(std::int64_t index) const {
  if (pattern) return pattern->contains(index);
  return std::ranges::any_of(ranges, [index](const IndexRange& range) {
    return range.first <= index && index <= range.last;
  });
}

std::vector<std::int64_t> IndexSet::indices(std::int64_t extent) const {
  std::vector<std::int64_t> all;
  for (std::int64_t index = 0; index < extent; ++index) {
    if (contains(index)) all.push_back(index);
  }
  return all;
}

bool Region::has_row(const RowPlace& place) const {
  return (!batch || batch->contains(place.batch)) && (!heads || heads->contains(place.head)) &&
         (!rows || rows->contains(place.row));
}

std::optional<IndexSet> covering_set(const std::vector<std::int64_t>& touched, std::int64_t extent,
                                     std::size_t most_ranges, bool may_be_tiled) {
  std::vector<IndexRange> runs = runs_of(touched);
  if (runs.empty() || runs.front() == IndexRange{0, extent - 1}) return std::nullopt;
  if (runs.size() > 1 && may_be_tiled) {
    if (const auto pattern = tile_pattern(touched, extent)) return IndexSet{{}, pattern};
  }
  if (runs.size() > most_ranges) {
    // Gaps of rows in which the fault shows too little are no borders of it.
    runs = {{runs.front().first, runs.back().last}};
    if (runs.front() == IndexRange{0, extent - 1}) return std::nullopt;
  }
  return IndexSet{std::move(runs)};
}

Region region_of(const WrongRows& wrong) {
  constexpr std::size_t most_ranges = 4;
  Region region;
  region.batch = axis_of(wrong, &RowPlace::batch, wrong.batch(), most_ranges, false);
  region.heads = axis_of(wrong, &RowPlace::head, wrong.heads(), most_ranges, false);
  region.rows = axis_of(wrong, &RowPlace::row, wrong.rows(), most_ranges, true);
  std::vector<std::int64_t> columns;
  for (std::int64_t c = 0; c < wrong.columns(); ++c) {
    if (wrong.column_counts()[static_cast<std::size_t>(c)] > 0) columns.push_back(c);
  }
  region.columns = covering_set(columns, wrong.columns(), most_ranges, false);
  return region;
}

double filled_share(const WrongRows& wrong, const Region& region) {
  const auto size = [](const std::optional<IndexSet>& set, std::int64_t extent) {
    return static_cast<double>(set ? std::ssize(set->indices(extent)) : extent);
  };
  const double elements = size(region.batch, wrong.batch()) * size(region.heads, wrong.heads()) *
                          size(region.rows, wrong.rows()) * size(region.columns, wrong.columns());
  return elements > 0 ? static_cast<double>(wrong.elements()) / elements : 0;
}

std::string describe(const AxisWords& words, const IndexSet& set) {
  if (set.pattern) {
    const TilePattern& p = *set.pattern;
    if (p.every == 2) {
      return fmt::format("{} of {} tiles of {}", words.plural, p.first == 0 ? "even" : "odd",
                         p.tile);
    }
    return fmt::format("{} of every {}th tile of {} from tile {} on", words.plural, p.every, p.tile,
                       p.first);
  }
  std::vector<std::int64_t> indices;
  for (const IndexRange& range : set.ranges) {
    if (range.last - range.first >= 2) {
      if (set.ranges.size() == 1) {
        return fmt::format("{} {} to {}", words.plural, range.first, range.last);
      }
    }
    for (std::int64_t i = range.first; i <= range.last; ++i) indices.push_back(i);
  }
  return numbered(words, indices);
}

std::string describe_place(const Region& region) {
  std::vector<std::string> inner;
  if (region.columns) inner.push_back(describe(column_words, *region.columns));
  if (region.rows) inner.push_back(describe(row_words, *region.rows));
  std::vector<std::string> outer;
  const bool is_alone = inner.empty() && !region.heads;
  if (region.batch) {
    outer.push_back(describe(is_alone ? batch_entry_words : batch_words, *region.batch));
  }
  if (region.heads) {
    const bool follows = !inner.empty() || region.batch;
    outer.push_back(describe(follows ? head_words : query_head_words, *region.heads));
  }
  std::string text = fmt::format("{}", fmt::join(inner, " of "));
  if (!outer.empty()) {
    text += fmt::format("{}{}", text.empty() ? "" : " of ", fmt::join(outer, ", "));
  }
  return text;
}

}  // namespace gqa
