// Pictures as inline SVG, coloured by the page's style.
#pragma once

#include <string>

#include "gqa/report/html/markup.hpp"

namespace gqa::html {

/// A picture with its name and its content in words, for those who do not see it.
struct Drawing {
  std::string id;  ///< of its own on the page
  std::string title;
  std::string description;
  double width = 0;  ///< in pixels of CSS
  double height = 0;
  Markup content = {};
};

/// <svg role="img">, named and described by <title> and <desc>.
Markup svg(const Drawing& drawing);

/// <figure>: the drawing in a container that scrolls, and a caption.
Markup figure_of(const Drawing& drawing, const Markup& caption);

Markup rectangle(double x, double y, double width, double height, std::string_view css_class);
/// With a text that browsers show on hovering.
Markup rectangle(double x, double y, double width, double height, std::string_view css_class,
                 const std::string& tip);
Markup line(double x1, double y1, double x2, double y2, std::string_view css_class);
Markup circle(double x, double y, double radius, std::string_view css_class);
/// `anchor`: "start", "middle" or "end" of the text is at x; y is its base line.
Markup label(double x, double y, std::string_view content, std::string_view anchor = "start",
             std::string_view css_class = {});

/// Reading upwards, its middle at (x, y): the title of an axis that goes down.
Markup turned_label(double x, double y, std::string_view content, std::string_view css_class = {});

/// Many squares of one class as one path.
class Cells {
 public:
  void add(double x, double y, double width, double height);
  Markup markup(std::string_view css_class) const;

 private:
  std::string path_;
};

}  // namespace gqa::html
