#include "gqa/report/html/table.hpp"

namespace gqa::html {

namespace {

Attributes attributes_of(const Column& column) {
  if (column.kind == ColumnKind::number) return {{"class", "number"}};
  if (column.kind == ColumnKind::prose) return {{"class", "prose"}};
  if (column.kind == ColumnKind::name) return {{"class", "name"}};
  return {};
}

}  // namespace

Table::Table(std::string caption, std::vector<Column> columns)
    : caption_(std::move(caption)), columns_(std::move(columns)) {}

void Table::add_row(const std::vector<Markup>& cells, std::string_view css_class) {
  Markup row;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    Attributes attributes = attributes_of(columns_[i]);
    if (i == 0) attributes.push_back({"scope", "row"});
    row += element(i == 0 ? "th" : "td", attributes, cells[i]);
  }
  rows_ += css_class.empty() ? element("tr", row) : element("tr", css_class, row);
}

Markup Table::markup(bool is_sortable) const {
  Markup headings;
  for (const Column& column : columns_) {
    Attributes attributes = attributes_of(column);
    attributes.push_back({"scope", "col"});
    headings += element("th", attributes, text(column.heading));
  }
  const Markup content = element("caption", caption_) + element("thead", element("tr", headings)) +
                         element("tbody", rows_);
  return scrolled(caption_,
                  is_sortable ? element("table", "sortable", content) : element("table", content));
}

Markup scrolled(std::string_view label, const Markup& content) {
  return element("div",
                 Attributes{{"class", "scroll"},
                            {"role", "region"},
                            {"tabindex", "0"},
                            {"aria-label", std::string(label)}},
                 content);
}

Markup definitions(const std::vector<std::pair<std::string, Markup>>& pairs) {
  Markup content;
  for (const auto& [term, description] : pairs) {
    content += element("div", element("dt", term) + element("dd", description));
  }
  return element("dl", content);
}

Markup foldable(const std::string& id, const Markup& summary, const Markup& content, bool is_open) {
  Attributes attributes;
  if (is_open) attributes.push_back({"open", "open"});
  return element("details", attributes,
                 element("summary", summary) +
                     element("div", Attributes{{"id", id}, {"class", "fold"}}, content));
}

}  // namespace gqa::html
