// Orders in which kernels add many terms, as trees, and what each tree lets a black box show.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace gqa {

/// How the terms of one tile are added.
enum class InnerOrder {
  sequential,  ///< one after the other, into the running sum
  tile_sum,    ///< one after the other from zero, then the tile's sum into the running sum
  pairwise,    ///< neighbours, then neighbours of those
  lanes,       ///< `width` sums of every width-th term, then those together
  fused        ///< `width` terms and the running sum in one operation
};
/// How the sums of lanes are added.
enum class LaneMerge { neighbours, halves, in_order };

/// One order of summation. `tile` 0: all terms of a part. Parts: `parts` equal ones, or of
/// `part_size` terms each if that is not 0; merged in order or as a tree of neighbours.
struct SumOrder {
  InnerOrder inner = InnerOrder::sequential;
  std::int64_t width = 1;
  LaneMerge lane_merge = LaneMerge::neighbours;
  std::int64_t tile = 0;
  std::int64_t parts = 1;
  std::int64_t part_size = 0;
  bool tree_of_parts = false;

  std::int64_t part_length(std::int64_t terms) const;
};
/// "8 lanes, merged in halves".
std::string describe_inner(const SumOrder& order);
/// "in order", "as a tree", "one merge of two"; of one part: "none".
std::string describe_merge(const SumOrder& order, std::int64_t terms);

/// `count` terms of `total`: 0, stride, 2 stride, ... Only these are not zero.
struct LeafSet {
  std::int64_t total = 0;
  std::int64_t stride = 1;
  std::int64_t count = 0;

  bool operator==(const LeafSet&) const = default;
};

/// What one leaf shows: for every other leaf of the set the number of leaves below the node at
/// which the two meet. With +M at one, -M at the other and units elsewhere exactly the units below
/// that node are lost in M, so that the sum counts the others (Xie et al., "FPRev: revealing
/// floating-point accumulation orders", USENIX ATC 2025, arXiv 2411.00442, section 4).
struct PathReading {
  LeafSet set;
  std::int64_t leaf = 0;            ///< index into the set
  std::vector<std::int64_t> sizes;  ///< [count]; at `leaf` itself: 0
};

/// Does the order give these sizes?
bool agrees(const SumOrder& order, const std::vector<PathReading>& readings);

/// Term 0, a term that is added to it first, one that joins them next, and one that joins last.
std::array<std::int64_t, 4> telling_terms(const SumOrder& order, std::int64_t terms);

/// Pairwise sums of two tiles, or of parts that are merged as a tree, are one tree with pairwise
/// sums of everything: this order has that name.
bool is_named_otherwise(const SumOrder& order, std::int64_t terms);

/// "1, 1, 2, 4": what is added along the way from the first term, up to eight steps.
std::string path_text(const PathReading& reading);

/// Every order that is tried, each tree once: tiles among `tiles` (0: whole parts), parts among
/// one, powers of two up to 32 and parts of 64 to 512 terms (`with_parts`).
std::vector<SumOrder> sum_orders(std::int64_t terms, const std::vector<std::int64_t>& tiles,
                                 bool with_parts);

}  // namespace gqa
