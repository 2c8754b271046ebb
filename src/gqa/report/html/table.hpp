// Tables with a caption, in a container of their own that scrolls on narrow screens.
#pragma once

#include <string>
#include <vector>

#include "gqa/report/html/markup.hpp"

namespace gqa::html {

/// What a column holds: numbers stand at the right, in figures of one width; prose and names of
/// files keep a width that can be read on narrow screens.
enum class ColumnKind { plain, number, prose, name };

struct Column {
  std::string heading;
  ColumnKind kind = ColumnKind::plain;
};

/// A table under construction. The first column's cells are the headers of their rows.
class Table {
 public:
  Table(std::string caption, std::vector<Column> columns);
  /// Precondition: as many cells as columns. `css_class` is of the row.
  void add_row(const std::vector<Markup>& cells, std::string_view css_class = {});
  bool is_empty() const { return rows_.is_empty(); }
  /// `is_sortable`: by the script of a page that can be sorted.
  Markup markup(bool is_sortable = false) const;

 private:
  std::string caption_;
  std::vector<Column> columns_;
  Markup rows_;
};

/// Anything that may be wider than the screen; can be scrolled by keyboard.
Markup scrolled(std::string_view label, const Markup& content);

/// Pairs of a term and what it is, as <dl>.
Markup definitions(const std::vector<std::pair<std::string, Markup>>& pairs);

/// A section that opens on demand, also when a link leads into it: `id` is inside.
Markup foldable(const std::string& id, const Markup& summary, const Markup& content,
                bool is_open = false);

}  // namespace gqa::html
