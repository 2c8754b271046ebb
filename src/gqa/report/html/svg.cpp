#include "gqa/report/html/svg.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gqa/report/html/table.hpp"

namespace gqa::html {
namespace {

std::string number(double value) {
  return fmt::format("{:.6g}", value);
}

}  // namespace

Markup svg(const Drawing& d) {
  const std::string title = d.id + "-title";
  const std::string description = d.id + "-desc";
  return element("svg",
                 Attributes{{"xmlns", "http://www.w3.org/2000/svg"},
                            {"role", "img"},
                            {"aria-labelledby", title + " " + description},
                            {"width", number(d.width)},
                            {"height", number(d.height)},
                            {"viewBox", fmt::format("0 0 {:.6g} {:.6g}", d.width, d.height)}},
                 element("title", Attributes{{"id", title}}, text(d.title)) +
                     element("desc", Attributes{{"id", description}}, text(d.description)) +
                     d.content);
}

Markup figure_of(const Drawing& drawing, const Markup& caption) {
  return element(
      "figure",
      Attributes{{"style", fmt::format("width:{:.6g}px", std::max(drawing.width, 320.0))}},
      scrolled(drawing.title, svg(drawing)) +
          (caption.is_empty() ? Markup() : element("figcaption", caption)));
}

Markup rectangle(double x, double y, double width, double height, std::string_view css_class) {
  return element("rect", Attributes{{"x", number(x)},
                                    {"y", number(y)},
                                    {"width", number(width)},
                                    {"height", number(height)},
                                    {"class", std::string(css_class)}});
}

Markup rectangle(double x, double y, double width, double height, std::string_view css_class,
                 const std::string& tip) {
  return element("rect",
                 Attributes{{"x", number(x)},
                            {"y", number(y)},
                            {"width", number(width)},
                            {"height", number(height)},
                            {"class", std::string(css_class)}},
                 element("title", tip));
}

Markup line(double x1, double y1, double x2, double y2, std::string_view css_class) {
  return element("path",
                 Attributes{{"d", fmt::format("M{:.6g} {:.6g}L{:.6g} {:.6g}", x1, y1, x2, y2)},
                            {"class", std::string(css_class)}});
}

Markup circle(double x, double y, double radius, std::string_view css_class) {
  return element("circle", Attributes{{"cx", number(x)},
                                      {"cy", number(y)},
                                      {"r", number(radius)},
                                      {"class", std::string(css_class)}});
}

Markup label(double x, double y, std::string_view content, std::string_view anchor,
             std::string_view css_class) {
  Attributes attributes{{"x", number(x)}, {"y", number(y)}};
  if (anchor != "start") attributes.push_back({"text-anchor", std::string(anchor)});
  if (!css_class.empty()) attributes.push_back({"class", std::string(css_class)});
  return element("text", attributes, text(content));
}

Markup turned_label(double x, double y, std::string_view content, std::string_view css_class) {
  Attributes attributes{
      {"transform", fmt::format("translate({} {}) rotate(-90)", number(x), number(y))},
      {"text-anchor", "middle"}};
  if (!css_class.empty()) attributes.push_back({"class", std::string(css_class)});
  return element("text", attributes, text(content));
}

void Cells::add(double x, double y, double width, double height) {
  path_ += fmt::format("M{:.6g} {:.6g}h{:.6g}v{:.6g}h{:.6g}z", x, y, width, height, -width);
}

Markup Cells::markup(std::string_view css_class) const {
  if (path_.empty()) return {};
  return element("path", Attributes{{"d", path_}, {"class", std::string(css_class)}});
}

}  // namespace gqa::html
