#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "gqa/report/html/number_text.hpp"
#include "gqa/report/html/pictures.hpp"
#include "gqa/report/html/svg.hpp"

namespace gqa::html {
namespace {

constexpr double grid_left = 34;
constexpr double grid_top = 42;

struct Panel {
  std::string id;
  std::string title;
  const VisibleKeysPicture& picture;
  const std::vector<Share>& shares;
  bool with_differences;
};

// Two pictures of the most cells stand beside each other.
double cell_of(const VisibleKeysPicture& picture) {
  const auto most = static_cast<double>(std::max(picture.key_cells(), picture.row_cells()));
  return std::clamp(std::floor(440 / most), 11.0, 15.0);
}

Markup axes(const VisibleKeysPicture& picture) {
  const double cell = cell_of(picture);
  const double right = grid_left + static_cast<double>(picture.key_cells()) * cell;
  Markup content = label(0, 12, "query row \u2193", "start", "title") +
                   label(std::max(right, 130.0), 12, "key \u2192", "end", "title");
  const auto ticks = [](std::int64_t cells) { return std::max<std::int64_t>(1, (cells + 7) / 8); };
  for (std::int64_t k = 0; k < picture.key_cells(); k += ticks(picture.key_cells())) {
    content += label(grid_left + (static_cast<double>(k) + 0.5) * cell, grid_top - 7,
                     std::to_string(k * picture.keys_per_cell), "middle", "quiet");
  }
  for (std::int64_t r = 0; r < picture.row_cells(); r += ticks(picture.row_cells())) {
    content += label(grid_left - 6, grid_top + (static_cast<double>(r) + 0.5) * cell + 4,
                     std::to_string(r * picture.rows_per_cell), "end", "quiet");
  }
  return content;
}

Markup cells(const Panel& panel) {
  const VisibleKeysPicture& picture = panel.picture;
  const double cell = cell_of(picture);
  Cells seen, partly, hidden, extra, missing;
  Markup signs;
  const std::int64_t columns = picture.key_cells();
  for (std::int64_t i = 0; i < picture.row_cells() * columns; ++i) {
    const auto n = static_cast<std::size_t>(i);
    const double x = grid_left + static_cast<double>(i % columns) * cell;
    const double y = grid_top + static_cast<double>(i / columns) * cell;
    const bool is_extra = panel.with_differences && picture.is_extra[n] != 0;
    const bool is_missing = panel.with_differences && picture.is_missing[n] != 0;
    if (is_extra || is_missing) {
      (is_extra ? extra : missing).add(x + 0.5, y + 0.5, cell - 2, cell - 2);
      signs += label(x + cell / 2 - 0.5, y + cell / 2 + 3.5, is_extra ? "+" : "\u2212", "middle",
                     is_extra ? "onextra" : "onmissing");
    } else if (panel.shares[n] == Share::none) {
      hidden.add(x + 0.5, y + 0.5, cell - 2, cell - 2);
    } else {
      (panel.shares[n] == Share::all ? seen : partly).add(x, y, cell - 1, cell - 1);
    }
  }
  return hidden.markup("hidden") + seen.markup("seen") + partly.markup("partly") +
         extra.markup("extra") + missing.markup("missing") + signs;
}

std::string description(const Panel& panel) {
  const auto count = [&panel](Share share) { return std::ranges::count(panel.shares, share); };
  std::string text = fmt::format(
      "A grid of {} rows of queries by {} columns of keys: {} cells are visible, {} "
      "are not, {} in part.",
      panel.picture.row_cells(), panel.picture.key_cells(), count(Share::all), count(Share::none),
      count(Share::some));
  if (panel.with_differences) {
    text += fmt::format(" {} hold keys that should not be seen, {} lack keys that should.",
                        std::ranges::count(panel.picture.is_extra, 1),
                        std::ranges::count(panel.picture.is_missing, 1));
  }
  return text;
}

Markup draw(const Panel& panel) {
  const VisibleKeysPicture& picture = panel.picture;
  const double cell = cell_of(picture);
  const Drawing drawing{
      panel.id,
      panel.title,
      description(panel),
      std::max(grid_left + static_cast<double>(picture.key_cells()) * cell + 8, 138.0),
      grid_top + static_cast<double>(picture.row_cells()) * cell + 4,
      axes(picture) + cells(panel)};
  Markup caption = element("strong", panel.title);
  if (panel.with_differences) {
    const bool extra = std::ranges::count(picture.is_extra, 1) > 0;
    const bool missing = std::ranges::count(picture.is_missing, 1) > 0;

    caption += text(extra ? ": + marks keys that should not be seen" : "");
    caption += text(missing ? std::string(extra ? ", " : ": ") +
                                  "\u2212 keys that should be seen and are not"
                            : "");
  }
  return figure_of(drawing, caption);
}

}  // namespace

Markup visible_keys_picture(const std::string& id, const VisibleKeysPicture& keys,
                            const std::string& found_by) {
  if (keys.declared.empty()) return {};
  Markup panels = draw({id + "-declared", "Declared", keys, keys.declared, false});
  const bool differs =
      std::ranges::count(keys.is_extra, 1) > 0 || std::ranges::count(keys.is_missing, 1) > 0;
  if (differs) {
    panels += draw({id + "-found", found_title(found_by), keys, keys.found, true});
  }
  std::string words = fmt::format(
      "Query rows down, keys across, of batch entry {}, query head {}; a filled cell is a key that "
      "the row sees",
      keys.batch, keys.head);
  if (keys.rows_per_cell > 1 || keys.keys_per_cell > 1) {
    words += fmt::format("; a cell is {} by {}{}, pale where only some are visible",
                         counted(keys.rows_per_cell, "row"), counted(keys.keys_per_cell, "key"),
                         keys.every_row ? "" : " (of which some rows were asked)");
  }
  if (!keys.found.empty() && !differs) words += ". The output sees the same keys";
  return element("p", "quiet", text(words + ".")) + element("div", "pictures", panels);
}

}  // namespace gqa::html
