#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "gqa/report/html/number_text.hpp"
#include "gqa/report/html/pictures.hpp"
#include "gqa/report/html/svg.hpp"
#include "gqa/report/html/table.hpp"

namespace gqa::html {
namespace {

constexpr std::int64_t most_columns = 64;
constexpr std::int64_t most_lines = 64;
constexpr std::int64_t most_tips = 600;
constexpr int shades = 8;

// A part of the map, perhaps coarser.
struct Grid {
  std::int64_t lines = 0;
  std::int64_t columns = 0;
  std::int64_t heads_per_line = 1;
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
  std::int64_t rows_per_column = 1;
  std::vector<double> largest;
  std::vector<std::int64_t> violations;
};

std::int64_t ceiling(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// Cells of row blocks [begin, end) of the map, `step` blocks to a column.
Grid grid_of(const ErrorMap& map, std::int64_t begin, std::int64_t end, std::int64_t step) {
  Grid grid;
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

// Shades of powers of two of ulp, the same for the map and its enlargements.
class Scale {
 public:
  explicit Scale(const ErrorMap& map) {
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
  int shade(double error) const {
    const int below = top_ - std::max(least_, static_cast<int>(ErrorMap::bucket_of(error)));
    return std::max(0, shades - 1 - below / step_);
  }
  // The largest error of a shade.
  double end(int shade) const { return end_of(top_ - (shades - 1 - shade) * step_); }
  bool is_used(int shade) const { return top_ - (shades - 1 - shade) * step_ > least_ - step_; }

 private:
  static double end_of(int bucket) {
    return ErrorMap::bucket_end(static_cast<std::size_t>(std::max(bucket, 0)));
  }
  int least_ = static_cast<int>(ErrorMap::bucket_of(0.25));  // below that all are alike
  int top_ = 1;
  int step_ = 1;
};

std::string end_text(double end) {
  if (end == 0) return "0";
  if (std::isinf(end)) return "more";
  return "\u2264 " + power_of_two(std::ilogb(end));
}

std::string range_text(std::int64_t first, std::int64_t count, const char* one, const char* many) {
  return count == 1 ? fmt::format("{} {}", one, first)
                    : fmt::format("{} {} to {}", many, first, first + count - 1);
}

// "b1 h3", of blocks their first.
std::string head_label(std::int64_t batch_head, std::int64_t q_heads, bool several) {
  return fmt::format("b{} h{}{}", batch_head / q_heads, batch_head % q_heads,
                     several ? "\u2026" : "");
}

struct Frame {
  double left = 62;
  double top = 26;
  double cell_width = 0;
  double cell_height = 0;
};

Markup axes(const Grid& grid, const Frame& frame, std::int64_t q_heads) {
  Markup content;
  const std::int64_t every_line = ceiling(grid.lines, 32);
  for (std::int64_t line_index = 0; line_index < grid.lines; line_index += every_line) {
    content += label(frame.left - 8,
                     frame.top + (static_cast<double>(line_index) + 0.5) * frame.cell_height + 4,
                     head_label(line_index * grid.heads_per_line, q_heads, grid.heads_per_line > 1),
                     "end", "quiet");
  }
  // As many row numbers as fit.
  const auto every = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(
             std::ceil((grid.first_row + grid.rows > 100 ? 44 : 24) / frame.cell_width)));
  for (std::int64_t column = 0; column < grid.columns; column += every) {
    content +=
        label(frame.left + (static_cast<double>(column) + 0.5) * frame.cell_width, frame.top - 8,
              std::to_string(grid.first_row + column * grid.rows_per_column), "middle", "quiet");
  }
  return content;
}

// Marks in the upper right of cells.
class Corners {
 public:
  void add(double right, double top, double size) {
    path_ += fmt::format("M{:.6g} {:.6g}h{:.6g}v{:.6g}z", right - size, top, size, size);
  }
  Markup markup() const {
    if (path_.empty()) return {};
    return element("path", Attributes{{"d", path_}, {"class", "violation"}});
  }

 private:
  std::string path_;
};

Markup cell_markup(const Grid& grid, const Frame& frame, const Scale& scale, std::int64_t q_heads) {
  const bool tips = grid.lines * grid.columns <= most_tips;
  std::vector<Cells> of_shade(shades);
  Cells not_audited;
  Markup content;
  Corners marks;
  for (std::int64_t l = 0; l < grid.lines; ++l) {
    for (std::int64_t c = 0; c < grid.columns; ++c) {
      const auto i = static_cast<std::size_t>(l * grid.columns + c);
      const double x = frame.left + static_cast<double>(c) * frame.cell_width;
      const double y = frame.top + static_cast<double>(l) * frame.cell_height;
      const double w = frame.cell_width - 1;
      const double h = frame.cell_height - 1;
      const bool known = grid.largest[i] >= 0;
      const int shade = known ? scale.shade(grid.largest[i]) : 0;
      if (!known && grid.violations[i] == 0) {
        not_audited.add(x + 0.5, y + 0.5, w - 1, h - 1);
        continue;
      }
      if (tips) {
        const std::int64_t row = grid.first_row + c * grid.rows_per_column;
        content += rectangle(
            x, y, w, h, fmt::format("h{}", shade),
            fmt::format(
                "{}, {}: {}{}",
                head_label(l * grid.heads_per_line, q_heads, grid.heads_per_line > 1),
                range_text(row, std::min(grid.rows_per_column, grid.first_row + grid.rows - row),
                           "row", "rows"),
                known ? figure(grid.largest[i]) + " ulp" : "no number",
                grid.violations[i] > 0
                    ? fmt::format(", {}", counted(grid.violations[i], "violation"))
                    : ""));
      } else {
        of_shade[static_cast<std::size_t>(shade)].add(x, y, w, h);
      }
      if (grid.violations[i] > 0) {
        marks.add(x + w, y, std::min({7.0, w, h}));
      }
    }
  }
  for (int shade = 0; shade < shades; ++shade) {
    content += of_shade[static_cast<std::size_t>(shade)].markup(fmt::format("h{}", shade));
  }
  return not_audited.markup("hidden") + content + marks.markup();
}

Markup legend(const Scale& scale, double y, bool violated, bool gaps, double& width) {
  Markup content;
  double x = 0;
  const auto entry = [&](const std::string& css_class, const std::string& words) {
    content += rectangle(x, y, 13, 13, css_class);
    content += label(x + 18, y + 11, words, "start", "quiet");
    x += 32 + 6.4 * static_cast<double>(std::min<std::size_t>(words.size(), 14));
  };
  for (int shade = 0; shade < shades; ++shade) {
    if (scale.is_used(shade)) entry(fmt::format("h{}", shade), end_text(scale.end(shade)));
  }
  if (gaps) entry("hidden", "not measured");
  if (violated) {
    Corners corner;
    corner.add(x + 13, y, 11);
    content += corner.markup() + label(x + 18, y + 11, "violation", "start", "quiet");
    x += 90;
  }
  width = std::max(width, x + 10);
  return content;
}

struct Summary {
  std::int64_t violated = 0;
  bool gaps = false;
  double largest = 0;
};

Summary summary_of(const Grid& grid) {
  Summary summary;
  for (std::size_t i = 0; i < grid.largest.size(); ++i) {
    if (grid.violations[i] > 0) ++summary.violated;
    summary.gaps = summary.gaps || (grid.largest[i] < 0 && grid.violations[i] == 0);
    summary.largest = std::max(summary.largest, grid.largest[i]);
  }
  return summary;
}

Drawing drawing_of(const std::string& id, const Grid& grid, const Scale& scale,
                   std::int64_t q_heads) {
  Frame frame;
  frame.cell_width =
      std::clamp(760.0 / static_cast<double>(std::max<std::int64_t>(1, grid.columns)), 9.0, 30.0);
  frame.cell_height = grid.lines <= 24 ? 18 : 10;
  const Summary summary = summary_of(grid);
  Drawing drawing;
  drawing.id = id;
  drawing.title = fmt::format("Largest certified error in ulp, by head and {}",
                              range_text(grid.first_row, grid.rows, "query row", "query rows"));
  drawing.description = fmt::format(
      "A grid of {} by {}: heads down, query rows across{}. The largest error is {} ulp; {} of {} "
      "cells hold violations.",
      grid.lines, grid.columns,
      grid.rows_per_column > 1 ? fmt::format(" in blocks of {}", grid.rows_per_column) : "",
      figure(summary.largest), summary.violated, grid.largest.size());
  drawing.width =
      std::max(frame.left + static_cast<double>(grid.columns) * frame.cell_width + 16, 300.0);
  const double bottom = frame.top + static_cast<double>(grid.lines) * frame.cell_height;
  drawing.height = bottom + 36;
  drawing.content = axes(grid, frame, q_heads) + cell_markup(grid, frame, scale, q_heads) +
                    legend(scale, bottom + 14, summary.violated > 0, summary.gaps, drawing.width);
  return drawing;
}

// The blocks behind a coarse picture, some at a time.
Markup enlargements(const std::string& id, const ErrorMap& map, const Scale& scale,
                    std::int64_t q_heads) {
  Markup content;
  for (std::int64_t begin = 0; begin < map.row_cells(); begin += most_columns) {
    const std::int64_t end = std::min(map.row_cells(), begin + most_columns);
    const Grid grid = grid_of(map, begin, end, 1);
    const Summary summary = summary_of(grid);
    const std::string part = fmt::format("{}-zoom{}", id, begin / most_columns);
    content += foldable(
        part,
        text(fmt::format("{}, by {}: at most {} ulp{}",
                         range_text(grid.first_row, grid.rows, "Row", "Rows"),
                         grid.rows_per_column == 1 ? "row" : counted(grid.rows_per_column, "row"),
                         figure(summary.largest), summary.violated > 0 ? ", violations" : "")),
        figure_of(drawing_of(part + "-picture", grid, scale, q_heads), {}));
  }
  return content;
}

}  // namespace

Markup heat_map_picture(const std::string& id, const ErrorMap& map, std::int64_t q_heads) {
  if (!map.is_kept() || q_heads <= 0) return {};
  const Scale scale(map);
  const std::int64_t step = ceiling(map.row_cells(), most_columns);
  const Grid grid = grid_of(map, 0, map.row_cells(), step);
  Markup caption = text(fmt::format(
      "Largest certified error in ulp: query heads down (b: batch entry, h: head), query rows "
      "across{}.",
      grid.rows_per_column > 1 ? fmt::format(", {} to a cell", grid.rows_per_column) : ""));
  Markup content = figure_of(drawing_of(id, grid, scale, q_heads), caption);
  if (step > 1) content += enlargements(id, map, scale, q_heads);
  return content;
}

}  // namespace gqa::html
