#include "gqa/report/html/heat_grid.hpp"

#include <algorithm>

namespace gqa::html {
namespace {

constexpr std::int64_t most_lines = 64;

std::int64_t ceiling(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace

HeatGrid heat_grid(const ErrorMap& map, std::int64_t begin, std::int64_t end, std::int64_t step) {
  HeatGrid grid;
  const std::int64_t heads_step = ceiling(map.head_cells(), most_lines);
  grid.lines = ceiling(map.head_cells(), heads_step);
  grid.columns = ceiling(end - begin, step);
  grid.heads_per_line = map.heads_per_cell * heads_step;
  grid.first_row = begin * map.rows_per_cell;
  grid.rows = std::min(map.rows, end * map.rows_per_cell) - grid.first_row;
  grid.rows_per_column = map.rows_per_cell * step;
  const auto cells = static_cast<std::size_t>(grid.lines * grid.columns);
  grid.largest.assign(cells, ErrorMap::not_measured);
  grid.violations.assign(cells, 0);
  for (std::int64_t head = 0; head < map.head_cells(); ++head) {
    for (std::int64_t block = begin; block < end; ++block) {
      const auto from = static_cast<std::size_t>(head * map.row_cells() + block);
      const auto to =
          static_cast<std::size_t>(head / heads_step * grid.columns + (block - begin) / step);
      grid.largest[to] = std::max(grid.largest[to], map.largest[from]);
      grid.violations[to] += map.violations[from];
    }
  }
  return grid;
}

HeatSummary summary_of(const HeatGrid& grid) {
  HeatSummary summary;
  for (std::size_t i = 0; i < grid.largest.size(); ++i) {
    if (grid.violations[i] > 0) ++summary.violated;
    summary.gaps = summary.gaps || (grid.largest[i] < 0 && grid.violations[i] == 0);
    summary.largest = std::max(summary.largest, grid.largest[i]);
  }
  return summary;
}

HeatScale::HeatScale(const ErrorMap& map) {
  int lowest = static_cast<int>(ErrorMap::buckets);
  int highest = -1;
  for (const double error : map.largest) {
    if (error < 0) continue;
    const int bucket = std::max(least_, static_cast<int>(ErrorMap::bucket_of(error)));
    lowest = std::min(lowest, bucket);
    highest = std::max(highest, bucket);
  }
  top_ = std::max(highest, least_);
  step_ = std::max(1, (top_ - std::min(lowest, top_) + shades - 1) / (shades - 1));
}

int HeatScale::shade(double error) const {
  const int below = top_ - std::max(least_, static_cast<int>(ErrorMap::bucket_of(error)));
  return std::max(0, shades - 1 - below / step_);
}

double HeatScale::end(int shade) const {
  return ErrorMap::bucket_end(static_cast<std::size_t>(std::max(bucket_of(shade), 0)));
}

}  // namespace gqa::html
