// Parts of an error map as they are drawn, and the shades of errors.
#pragma once

#include <cstdint>
#include <vector>

#include "gqa/audit/decide/error_map.hpp"

namespace gqa::html {

/// A part of an error map, perhaps coarser: [lines, columns].
struct HeatGrid {
  std::int64_t lines = 0;
  std::int64_t columns = 0;
  std::int64_t heads_per_line = 1;
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
  std::int64_t rows_per_column = 1;
  std::vector<double> largest;
  std::vector<std::int64_t> violations;
};

/// Row blocks [begin, end) of the map, `step` blocks to a column, heads in at most 64 lines.
HeatGrid heat_grid(const ErrorMap& map, std::int64_t begin, std::int64_t end, std::int64_t step);

struct HeatSummary {
  std::int64_t violated = 0;  ///< cells
  bool gaps = false;          ///< some cells were not audited
  double largest = 0;
};
HeatSummary summary_of(const HeatGrid& grid);

/// Shades of powers of two of ulp, the same for a map and its parts.
class HeatScale {
 public:
  static constexpr int shades = 8;

  explicit HeatScale(const ErrorMap& map);
  int shade(double error) const;
  /// The largest error of a shade.
  double end(int shade) const;
  /// Some error of the map may have it, or a smaller one.
  bool is_used(int shade) const { return bucket_of(shade) > least_ - step_; }

 private:
  int bucket_of(int shade) const { return top_ - (shades - 1 - shade) * step_; }

  int least_ = static_cast<int>(ErrorMap::bucket_of(0.25));  // below that all are alike
  int top_ = 1;
  int step_ = 1;
};

}  // namespace gqa::html
