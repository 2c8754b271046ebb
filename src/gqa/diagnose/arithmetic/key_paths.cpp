#include "gqa/diagnose/arithmetic/key_paths.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace gqa {
namespace {

struct Sizes {
  double unit;
  double large;
};

// Large values 2^28 times the number of units lose all of them in binary32 and stay finite in
// every wide format. Outputs in binary16 are multiples of 2^-24, and values end at 65504.
Sizes key_sizes(const Experiments& experiments, const LeafSet& set, bool narrow) {
  if (experiments.type() == ElementType::binary16) {
    return {static_cast<double>(set.total) * 0x1p-24, 0x1p15};
  }
  if (narrow) return {0x1p-5, 0x1p15};
  return {1, std::ldexp(0x1p28, std::ilogb(static_cast<double>(set.count)))};
}

std::array<std::int64_t, 3> asked_leaves(const LeafSet& set) {
  return {0, 1, 37 % set.count};
}

std::vector<PathReading> unread_paths(const LeafSet& set) {
  std::vector<PathReading> paths;
  for (const std::int64_t leaf : asked_leaves(set)) {
    paths.push_back({set, leaf, std::vector<std::int64_t>(static_cast<std::size_t>(set.count))});
  }
  return paths;
}

struct CountedSums {
  std::optional<std::vector<double>> sums;
  bool in_range = true;  // counts from 0 to the number of keys
};

// One column for each pair of leaves: units at all keys of the set but the pair.
CountedSums pair_sums(Experiments& experiments, const LeafSet& set, const Sizes& sizes) {
  ProbeMatrix value(set.total, 3 * (set.count - 1));
  std::int64_t column = 0;
  for (const std::int64_t leaf : asked_leaves(set)) {
    for (std::int64_t n = 0; n < set.count; ++n) {
      if (n == leaf) continue;
      for (std::int64_t m = 0; m < set.count; ++m) value(m * set.stride, column) = sizes.unit;
      value(leaf * set.stride, column) = sizes.large;
      value(n * set.stride, column) = -sizes.large;
      ++column;
    }
  }
  CountedSums result{experiments.equal_weight_sums(value, sizes.unit)};
  if (!result.sums) return result;
  result.in_range = std::ranges::all_of(*result.sums, [&](double sum) {
    return sum > -0.5 && sum < static_cast<double>(set.count) + 0.5;
  });
  return result;
}

std::vector<PathReading> paths_of_counts(const LeafSet& set, const std::vector<double>& counts) {
  std::vector<PathReading> paths = unread_paths(set);
  std::size_t column = 0;
  for (PathReading& path : paths) {
    for (std::int64_t n = 0; n < set.count; ++n) {
      if (n == path.leaf) continue;
      path.sizes[static_cast<std::size_t>(n)] = set.count - std::llround(counts[column++]);
    }
  }
  return paths;
}

// Under truncation every unit that is added to -M takes one unit in the last place of M away, so
// that counts are out of range. One unit a column then: it is outside exactly if the sum is one.
std::vector<PathReading> paths_unit_by_unit(Experiments& experiments, const LeafSet& set,
                                            const Sizes& sizes) {
  ProbeMatrix value(set.total, 3 * (set.count - 1) * (set.count - 2));
  std::int64_t column = 0;
  const auto each = [&](const auto& visit) {
    for (std::size_t row = 0; row < 3; ++row) {
      const std::int64_t leaf = asked_leaves(set)[row];
      for (std::int64_t n = 0; n < set.count; ++n) {
        for (std::int64_t m = 0; m < set.count; ++m) {
          if (n != leaf && m != leaf && m != n) visit(row, leaf, n, m);
        }
      }
    }
  };
  each([&](std::size_t, std::int64_t leaf, std::int64_t n, std::int64_t m) {
    value(m * set.stride, column) = sizes.unit;
    value(leaf * set.stride, column) = sizes.large;
    value(n * set.stride, column) = -sizes.large;
    ++column;
  });
  const auto sums = experiments.equal_weight_sums(value, sizes.unit);
  if (!sums) return {};
  std::vector<PathReading> paths = unread_paths(set);
  for (PathReading& path : paths) {
    for (std::int64_t n = 0; n < set.count; ++n) {
      if (n != path.leaf) path.sizes[static_cast<std::size_t>(n)] = set.count;
    }
  }
  column = 0;
  each([&](std::size_t row, std::int64_t, std::int64_t n, std::int64_t) {
    const double sum = (*sums)[static_cast<std::size_t>(column++)];
    if (std::fabs(sum - 1) < 0.3) --paths[row].sizes[static_cast<std::size_t>(n)];
  });
  return paths;
}

std::vector<PathReading> paths_of_set(Experiments& experiments, const LeafSet& set) {
  Sizes sizes = key_sizes(experiments, set, false);
  CountedSums counted = pair_sums(experiments, set, sizes);
  if (!counted.sums) return {};
  const bool finite = std::ranges::all_of(*counted.sums, [](double x) { return std::isfinite(x); });
  if (!finite && experiments.type() != ElementType::binary16) {
    // An accumulator with the exponents of binary16.
    sizes = key_sizes(experiments, set, true);
    counted = pair_sums(experiments, set, sizes);
    if (!counted.sums) return {};
  }
  if (counted.in_range) return paths_of_counts(set, *counted.sums);
  if (!std::ranges::all_of(*counted.sums, [](double x) { return std::isfinite(x); })) return {};
  if (experiments.type() == ElementType::binary32) {
    // Binary32 holds both figures: whole units in the last place below M, and the count.
    const double step = std::ldexp(sizes.large, -24) / sizes.unit;
    for (double& sum : *counted.sums) sum -= step * std::floor(sum / step);
    return paths_of_counts(set, *counted.sums);
  }
  const LeafSet small{set.total, set.stride * set.count / 16, 16};
  std::vector<PathReading> paths;
  for (const std::int64_t stride : {set.stride, small.stride}) {
    const LeafSet part{set.total, stride, 16};
    for (PathReading& path : paths_unit_by_unit(experiments, part, sizes)) paths.push_back(path);
    if (small.stride == set.stride) break;
  }
  return paths;
}

}  // namespace

std::vector<PathReading> read_key_paths(Experiments& experiments) {
  const std::int64_t total = experiments.keys(1024);
  if (total < 256) return {};
  std::vector<LeafSet> sets;
  if (experiments.type() == ElementType::binary16) {
    for (const std::int64_t stride : {std::int64_t{1}, std::int64_t{8}, total / 16}) {
      sets.push_back({total, stride, 16});
    }
    sets.push_back({total / 2, 8, 16});
    sets.push_back({total / 2, total / 32, 16});
  } else {
    sets = {{total, 1, 256}, {total, total / 128, 128}, {total / 2, total / 256, 128}};
  }
  std::vector<PathReading> paths;
  for (const LeafSet& set : sets) {
    const std::vector<PathReading> read = paths_of_set(experiments, set);
    if (read.empty()) return {};
    paths.insert(paths.end(), read.begin(), read.end());
  }
  return paths;
}

}  // namespace gqa
