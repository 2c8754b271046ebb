#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "gqa/report/html/heat_grid.hpp"
#include "gqa/report/html/number_text.hpp"
#include "gqa/report/html/pictures.hpp"
#include "gqa/report/html/svg.hpp"
#include "gqa/report/html/table.hpp"

namespace gqa::html {
namespace {

constexpr std::int64_t most_columns = 64;
constexpr std::int64_t most_tips = 600;

std::string end_text(double end) {
  if (end == 0) return "0";
  if (std::isinf(end)) return "more";
  return "\u2264 " + power_of_two(std::ilogb(end));
}

std::string range_text(std::int64_t first, std::int64_t count, std::string_view one) {
  return count == 1 ? fmt::format("{} {}", one, first)
                    : fmt::format("{}s {} to {}", one, first, first + count - 1);
}

// "b1 h3", of blocks their first.
std::string head_label(std::int64_t batch_head, std::int64_t q_heads, bool several) {
  return fmt::format("b{} h{}{}", batch_head / q_heads, batch_head % q_heads,
                     several ? "\u2026" : "");
}

struct Frame {
  double left = 62;
  double top = 42;
  double cell_width = 0;
  double cell_height = 0;
};

Markup axes(const HeatGrid& grid, const Frame& frame, const HeatAxes& of) {
  const std::int64_t q_heads = of.heads;
  const double right =
      std::max(frame.left + static_cast<double>(grid.columns) * frame.cell_width, 284.0);
  Markup content = label(0, 12, fmt::format("batch entry, {} \u2193", of.head), "start", "title") +
                   label(right, 12, fmt::format("{} \u2192", of.row), "end", "title");
  const std::int64_t every_line = (grid.lines + 31) / 32;
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

// The cells of a grid: with texts to hover for where they are few, by shade where they are many.
class CellWriter {
 public:
  CellWriter(const HeatGrid& grid, const Frame& frame, const HeatScale& scale, const HeatAxes& axes,
             bool with_tips)
      : grid_(grid), frame_(frame), scale_(scale), axes_(axes), with_tips_(with_tips) {}

  Markup write() {
    for (std::int64_t l = 0; l < grid_.lines; ++l) {
      for (std::int64_t c = 0; c < grid_.columns; ++c) add(l, c);
    }
    for (int shade = 0; shade < HeatScale::shades; ++shade) {
      content_ += of_shade_[static_cast<std::size_t>(shade)].markup(fmt::format("h{}", shade));
    }
    return not_audited_.markup("hidden") + content_ + marks_.markup();
  }

 private:
  void add(std::int64_t l, std::int64_t c) {
    const auto i = static_cast<std::size_t>(l * grid_.columns + c);
    const double x = frame_.left + static_cast<double>(c) * frame_.cell_width;
    const double y = frame_.top + static_cast<double>(l) * frame_.cell_height;
    const double w = frame_.cell_width - 1;
    const double h = frame_.cell_height - 1;
    const bool known = grid_.largest[i] >= 0;
    if (!known && grid_.violations[i] == 0) {
      not_audited_.add(x + 0.5, y + 0.5, w - 1, h - 1);
      return;
    }
    const int shade = known ? scale_.shade(grid_.largest[i]) : 0;
    if (with_tips_ && grid_.lines * grid_.columns <= most_tips) {
      content_ += rectangle(x, y, w, h, fmt::format("h{}", shade), tip(l, c, i));
    } else {
      of_shade_[static_cast<std::size_t>(shade)].add(x, y, w, h);
    }
    if (grid_.violations[i] > 0) marks_.add(x + w, y, std::min({7.0, w, h}));
  }

  std::string tip(std::int64_t l, std::int64_t c, std::size_t i) const {
    const std::int64_t row = grid_.first_row + c * grid_.rows_per_column;
    const std::int64_t rows = std::min(grid_.rows_per_column, grid_.first_row + grid_.rows - row);
    const double error = grid_.largest[i];
    return fmt::format(
        "{}, {}: {}{}", head_label(l * grid_.heads_per_line, axes_.heads, grid_.heads_per_line > 1),
        range_text(row, rows, axes_.unit), error >= 0 ? figure(error) + " ulp" : "no number",
        grid_.violations[i] > 0 ? ", " + counted(grid_.violations[i], "violation") : "");
  }

  const HeatGrid& grid_;
  const Frame& frame_;
  const HeatScale& scale_;
  const HeatAxes& axes_;
  bool with_tips_;
  std::vector<Cells> of_shade_{HeatScale::shades};
  Cells not_audited_;
  Markup content_;
  Corners marks_;
};

Markup legend(const HeatScale& scale, double y, bool violated, bool gaps, double& width) {
  Markup content = label(0, y + 11, "error, ulp:", "start", "title");
  double x = 70;
  const auto entry = [&](const std::string& css_class, const std::string& words) {
    content += rectangle(x, y, 13, 13, css_class);
    content += label(x + 18, y + 11, words, "start", "quiet");
    x += 32 + 6.4 * static_cast<double>(std::min<std::size_t>(words.size(), 14));
  };
  for (int shade = 0; shade < HeatScale::shades; ++shade) {
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

Drawing drawing_of(const std::string& id, const HeatGrid& grid, const HeatScale& scale,
                   const HeatAxes& of, bool with_tips = true) {
  Frame frame;
  frame.cell_width =
      std::clamp(760.0 / static_cast<double>(std::max<std::int64_t>(1, grid.columns)), 9.0, 30.0);
  frame.cell_height = grid.lines <= 24 ? 18 : 10;
  const HeatSummary summary = summary_of(grid);
  Drawing drawing;
  drawing.id = id;
  drawing.title = fmt::format("Largest certified error in ulp, by head and {}",
                              range_text(grid.first_row, grid.rows, of.row));
  drawing.description = fmt::format(
      "A grid of {} by {}: {}s down, {}s across{}. The largest error is {} ulp; {} of {} cells "
      "hold violations.",
      grid.lines, grid.columns, of.head, of.row,
      grid.rows_per_column > 1 ? fmt::format(" in blocks of {}", grid.rows_per_column) : "",
      figure(summary.largest), summary.violated, grid.largest.size());
  drawing.width =
      std::max(frame.left + static_cast<double>(grid.columns) * frame.cell_width + 16, 300.0);
  const double bottom = frame.top + static_cast<double>(grid.lines) * frame.cell_height;
  drawing.height = bottom + 36;
  drawing.content = axes(grid, frame, of) + CellWriter(grid, frame, scale, of, with_tips).write() +
                    legend(scale, bottom + 14, summary.violated > 0, summary.gaps, drawing.width);
  return drawing;
}

// The blocks behind a coarse picture, some at a time.
Markup enlargements(const std::string& id, const ErrorMap& map, const HeatScale& scale,
                    const HeatAxes& of) {
  Markup content;
  for (std::int64_t begin = 0; begin < map.row_cells(); begin += most_columns) {
    const std::int64_t end = std::min(map.row_cells(), begin + most_columns);
    const HeatGrid grid = heat_grid(map, begin, end, 1);
    const HeatSummary summary = summary_of(grid);
    const std::string part = fmt::format("{}-zoom{}", id, begin / most_columns);
    content +=
        foldable(part,
                 text(fmt::format(
                     "{}, by {}: at most {} ulp{}",
                     capitalised(range_text(grid.first_row, grid.rows, of.unit)),
                     grid.rows_per_column == 1 ? of.unit : counted(grid.rows_per_column, of.unit),
                     figure(summary.largest), summary.violated > 0 ? ", violations" : "")),
                 figure_of(drawing_of(part + "-picture", grid, scale, of), {}));
  }
  return content;
}

}  // namespace

Markup heat_map_picture(const std::string& id, const ErrorMap& map, const HeatAxes& axes,
                        bool with_parts) {
  if (!map.is_kept() || axes.heads <= 0) return {};
  const HeatScale scale(map);
  const std::int64_t step = (map.row_cells() + most_columns - 1) / most_columns;
  const HeatGrid grid = heat_grid(map, 0, map.row_cells(), step);
  Markup caption = text(fmt::format(
      "Largest certified error in ulp: {}s down (b: batch entry, h: head), {}s across{}.",
      axes.head, axes.row,
      grid.rows_per_column > 1 ? fmt::format(", {} to a cell", grid.rows_per_column) : ""));
  Markup content = figure_of(drawing_of(id, grid, scale, axes, with_parts), caption);
  if (step > 1 && with_parts) content += enlargements(id, map, scale, axes);
  return content;
}

}  // namespace gqa::html
