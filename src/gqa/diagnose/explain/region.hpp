// The part of an output that a fault is confined to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gqa/audit/decide/describe_violations.hpp"
#include "gqa/diagnose/explain/wrong_rows.hpp"

namespace gqa {

/// Indices first to last of an axis, both included.
struct IndexRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
  friend bool operator==(const IndexRange&, const IndexRange&) = default;
};

/// Every `every`-th tile of `tile` indices, from tile number `first` on.
struct TilePattern {
  std::int64_t tile = 0;
  std::int64_t every = 0;
  std::int64_t first = 0;
  bool contains(std::int64_t index) const { return index / tile % every == first; }
  friend bool operator==(const TilePattern&, const TilePattern&) = default;
};

/// Some indices of an axis: a pattern, or else ranges, rising and apart from each other.
struct IndexSet {
  std::vector<IndexRange> ranges;
  std::optional<TilePattern> pattern = {};
  bool contains(std::int64_t index) const;
  /// Those of [0, extent), rising.
  std::vector<std::int64_t> indices(std::int64_t extent) const;
  friend bool operator==(const IndexSet&, const IndexSet&) = default;
};

/// A product of sets; an axis without one is not restricted.
struct Region {
  std::optional<IndexSet> batch;
  std::optional<IndexSet> heads;
  std::optional<IndexSet> rows;
  std::optional<IndexSet> keys;
  std::optional<IndexSet> columns;

  bool is_everywhere() const { return !batch && !heads && !rows && !keys && !columns; }
  bool has_row(const RowPlace& place) const;
  friend bool operator==(const Region&, const Region&) = default;
};

/// The smallest set of few ranges, or pattern of tiles (16, 32, 64 or 128 rows, every second one),
/// that covers `touched` (rising, not empty); nullopt if that is all of [0, extent). A pattern
/// where each of its tiles is touched and nothing beside them. Where there are more than
/// `most_ranges` runs: from the first to the last.
std::optional<IndexSet> covering_set(const std::vector<std::int64_t>& touched, std::int64_t extent,
                                     std::size_t most_ranges, bool may_be_tiled);

/// The smallest product that covers all wrong elements.
Region region_of(const WrongRows& wrong);

/// Is the region about full? Fewer than one element in eight: single elements, scattered over it.
/// Rows that a causal fault cannot touch are few beside that.
double filled_share(const WrongRows& wrong, const Region& region);

/// "rows 192 to 255", "rows of odd tiles of 64", "query head 5".
std::string describe(const AxisWords& words, const IndexSet& set);

/// Without its keys, in the order of reading: "rows 16 to 31 of batch 1, head 3",
/// "query heads 4 to 7"; empty if no axis of an output is restricted.
std::string describe_place(const Region& region);

}  // namespace gqa
