#include "gqa/diagnose/arithmetic/sum_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace gqa {
namespace {

constexpr int no_node = -1;

// A tree whose nodes come after all that is below them; the first ones are the terms.
class SumTree {
 public:
  SumTree(const SumOrder& order, std::int64_t terms)
      : order_(order), parents_(static_cast<std::size_t>(terms), no_node) {
    const std::int64_t length = order.part_length(terms);
    std::vector<int> parts;
    for (std::int64_t begin = 0; begin < terms; begin += length) {
      parts.push_back(part(begin, std::min(terms, begin + length)));
    }
    if (order.tree_of_parts) {
      pairwise(std::move(parts));
    } else {
      chain(parts);
    }
  }

  // Of every leaf of the set, the leaves below the node at which it meets the given one.
  std::vector<std::int64_t> sizes(const LeafSet& set, std::int64_t leaf) const {
    const std::size_t nodes = parents_.size();
    std::vector<std::int64_t> below(nodes);
    for (std::int64_t n = 0; n < set.count; ++n) ++below[static_cast<std::size_t>(n * set.stride)];
    for (std::size_t node = 0; node < nodes; ++node) {
      if (parents_[node] != no_node) below[static_cast<std::size_t>(parents_[node])] += below[node];
    }
    std::vector<bool> on_path(nodes);
    for (int node = static_cast<int>(leaf * set.stride); node != no_node;
         node = parents_[static_cast<std::size_t>(node)]) {
      on_path[static_cast<std::size_t>(node)] = true;
    }
    std::vector<std::int64_t> meeting(nodes);
    for (std::size_t node = nodes; node-- > 0;) {
      const int parent = parents_[node];
      meeting[node] = on_path[node] || parent == no_node
                          ? below[node]
                          : meeting[static_cast<std::size_t>(parent)];
    }
    std::vector<std::int64_t> result(static_cast<std::size_t>(set.count));
    for (std::int64_t n = 0; n < set.count; ++n) {
      result[static_cast<std::size_t>(n)] =
          n == leaf ? 0 : meeting[static_cast<std::size_t>(n * set.stride)];
    }
    return result;
  }

 private:
  int join(const std::vector<int>& nodes) {
    if (nodes.size() == 1) return nodes.front();
    const int made = static_cast<int>(parents_.size());
    parents_.push_back(no_node);
    for (const int node : nodes) parents_[static_cast<std::size_t>(node)] = made;
    return made;
  }
  int onto(int sum, int node) { return sum == no_node ? node : join({sum, node}); }

  int chain(const std::vector<int>& nodes) {
    int sum = no_node;
    for (const int node : nodes) sum = onto(sum, node);
    return sum;
  }

  int pairwise(std::vector<int> nodes) {
    while (nodes.size() > 1) {
      std::vector<int> next;
      for (std::size_t n = 0; n < nodes.size(); n += 2) {
        next.push_back(n + 1 < nodes.size() ? join({nodes[n], nodes[n + 1]}) : nodes[n]);
      }
      nodes = std::move(next);
    }
    return nodes.front();
  }

  int halves(std::vector<int> nodes) {
    while (nodes.size() > 1) {
      const std::size_t half = nodes.size() / 2;
      for (std::size_t n = 0; n < half; ++n) nodes[n] = join({nodes[n], nodes[n + half]});
      nodes.resize(half);
    }
    return nodes.front();
  }

  int lanes(const std::vector<int>& terms) {
    const auto width = static_cast<std::size_t>(order_.width);
    std::vector<int> sums(std::min(width, terms.size()), no_node);
    for (std::size_t n = 0; n < terms.size(); ++n)
      sums[n % width] = onto(sums[n % width], terms[n]);
    if (order_.lane_merge == LaneMerge::in_order) return chain(sums);
    // Fewer terms than lanes: the other lanes are zero.
    if (order_.lane_merge == LaneMerge::halves && sums.size() == width) return halves(sums);
    return pairwise(sums);
  }

  int add_tile(int sum, std::int64_t begin, std::int64_t end) {
    std::vector<int> terms;
    for (std::int64_t term = begin; term < end; ++term) terms.push_back(static_cast<int>(term));
    switch (order_.inner) {
      case InnerOrder::sequential:
        for (const int term : terms) sum = onto(sum, term);
        return sum;
      case InnerOrder::tile_sum:
        return onto(sum, chain(terms));
      case InnerOrder::pairwise:
        return onto(sum, pairwise(terms));
      case InnerOrder::lanes:
        return onto(sum, lanes(terms));
      case InnerOrder::fused:
        break;
    }
    const auto width = static_cast<std::size_t>(order_.width);
    for (std::size_t n = 0; n < terms.size(); n += width) {
      std::vector<int> group;
      if (sum != no_node) group.push_back(sum);
      for (std::size_t m = n; m < std::min(terms.size(), n + width); ++m) group.push_back(terms[m]);
      sum = join(group);
    }
    return sum;
  }

  int part(std::int64_t begin, std::int64_t end) {
    const std::int64_t tile = order_.tile > 0 ? order_.tile : end - begin;
    int sum = no_node;
    for (std::int64_t first = begin; first < end; first += tile) {
      sum = add_tile(sum, first, std::min(end, first + tile));
    }
    return sum;
  }

  const SumOrder& order_;
  std::vector<int> parents_;
};

void add_tiled(std::vector<SumOrder>& orders, SumOrder order, std::int64_t length) {
  const std::int64_t tile = order.tile > 0 ? std::min(order.tile, length) : length;
  order.inner = InnerOrder::sequential;
  orders.push_back(order);
  order.inner = InnerOrder::tile_sum;
  // Of two terms: pairwise. One tile a part: sequential.
  if (tile > 2 && tile < length) orders.push_back(order);
  order.inner = InnerOrder::pairwise;
  if (tile > 1) orders.push_back(order);
  for (const std::int64_t width : {2, 4, 8, 16, 32, 64}) {
    order.width = width;
    order.inner = InnerOrder::fused;
    if (width <= tile) orders.push_back(order);
    order.inner = InnerOrder::lanes;
    if (width >= tile) continue;
    for (const LaneMerge merge : {LaneMerge::neighbours, LaneMerge::halves, LaneMerge::in_order}) {
      order.lane_merge = merge;
      if (width > 2 || merge == LaneMerge::neighbours) orders.push_back(order);
    }
    order.lane_merge = LaneMerge::neighbours;
  }
}

}  // namespace

std::int64_t SumOrder::part_length(std::int64_t terms) const {
  return part_size > 0 ? std::min(part_size, terms) : (terms + parts - 1) / parts;
}

std::string describe_inner(const SumOrder& order) {
  switch (order.inner) {
    case InnerOrder::sequential:
      return "sequential";
    case InnerOrder::tile_sum:
      return "sequential in each tile, then the tile's sum";
    case InnerOrder::pairwise:
      return "pairwise";
    case InnerOrder::lanes: {
      constexpr std::array<const char*, 3> merges{"neighbours", "halves", "order"};
      return fmt::format("{} lanes, merged in {}", order.width,
                         merges[static_cast<std::size_t>(order.lane_merge)]);
    }
    case InnerOrder::fused:
      break;
  }
  return fmt::format("fused blocks of {}", order.width);
}

std::string describe_merge(const SumOrder& order, std::int64_t terms) {
  const std::int64_t length = order.part_length(terms);
  const std::int64_t parts = (terms + length - 1) / length;
  if (parts == 1) return "none";
  if (parts == 2) return "one merge of two";
  return order.tree_of_parts ? "as a tree" : "in order";
}

bool agrees(const SumOrder& order, const std::vector<PathReading>& readings) {
  for (std::size_t n = 0; n < readings.size();) {
    const LeafSet& set = readings[n].set;
    const SumTree tree(order, set.total);
    for (; n < readings.size() && readings[n].set == set; ++n) {
      if (tree.sizes(set, readings[n].leaf) != readings[n].sizes) return false;
    }
  }
  return true;
}

std::array<std::int64_t, 4> telling_terms(const SumOrder& order, std::int64_t terms) {
  const std::vector<std::int64_t> sizes = SumTree(order, terms).sizes({terms, 1, terms}, 0);
  const auto size = [&](std::int64_t n) { return sizes[static_cast<std::size_t>(n)]; };
  std::int64_t sibling = 1, last = terms - 1, joining = 0;
  for (std::int64_t n = 1; n < terms; ++n) {
    if (size(n) < size(sibling)) sibling = n;
    if (size(n) > size(last)) last = n;
  }
  for (std::int64_t n = 1; n < terms; ++n) {
    const bool is_next = size(n) > size(sibling) && n != last;
    if (is_next && (joining == 0 || size(n) < size(joining))) joining = n;
  }
  // One operation for all: any other term.
  if (joining == 0) joining = sibling + 1 == last ? sibling + 2 : sibling + 1;
  return {0, sibling, joining, last};
}

bool is_named_otherwise(const SumOrder& order, std::int64_t terms) {
  const std::int64_t length = order.part_length(terms);
  const bool one_tile = order.tile == 0 || order.tile >= length;
  const bool one_merge = length < terms && 2 * length >= terms;
  if (order.inner != InnerOrder::pairwise) return false;
  return (!one_tile && 2 * order.tile >= length) ||
         (one_tile && length < terms && (order.tree_of_parts || one_merge));
}

std::string path_text(const PathReading& reading) {
  std::vector<std::int64_t> sizes = reading.sizes;
  std::ranges::sort(sizes);
  std::string text;
  std::int64_t steps = 0;
  std::int64_t before = 1;
  for (const std::int64_t size : sizes) {
    if (size <= before) continue;
    if (++steps > 8) return text + ", ...";
    text += fmt::format("{}{}", text.empty() ? "" : ", ", size - before);
    before = size;
  }
  return text;
}

std::vector<SumOrder> sum_orders(std::int64_t terms, const std::vector<std::int64_t>& tiles,
                                 bool with_parts) {
  std::vector<SumOrder> orders;
  const auto add_parts = [&](SumOrder parts) {
    const std::int64_t length = parts.part_length(terms);
    for (const std::int64_t tile : tiles) {
      parts.tile = tile;
      // Tiles longer than a part of so many terms show in longer problems.
      if (!with_parts && tile > length) continue;
      // Parts of one size for every problem, merged in order, one tile each: tiles.
      const bool are_tiles =
          parts.part_size > 0 && !parts.tree_of_parts && (tile == 0 || tile >= length);
      if (!are_tiles) add_tiled(orders, parts, length);
    }
  };
  SumOrder order;
  add_parts(order);
  if (!with_parts) return orders;
  for (const bool tree : {false, true}) {
    order = {};
    order.tree_of_parts = tree;
    for (const std::int64_t parts : {2, 4, 8, 16, 32}) {
      order.parts = parts;
      if (!tree || parts > 2) add_parts(order);
    }
    for (const std::int64_t size : {64, 128, 256, 512}) {
      order.part_size = size;
      if (size < terms) add_parts(order);
    }
  }
  return orders;
}

}  // namespace gqa
