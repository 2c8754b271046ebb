#include "gqa/report/html/markup.hpp"

#include <algorithm>
#include <array>

#include "gqa/report/junit.hpp"

namespace gqa::html {
namespace {

// Elements that never have content; every other one is written with an end tag, since HTML
// does not know <div/>.
constexpr std::array void_elements{std::string_view("meta"), std::string_view("link"),
                                   std::string_view("br"), std::string_view("wbr"),
                                   std::string_view("input")};

}  // namespace

class ElementWriter {
 public:
  static Markup write(std::string_view name, const Attributes& attributes, const Markup& content) {
    std::string text = "<" + std::string(name);
    for (const Attribute& attribute : attributes) {
      text += " " + std::string(attribute.name) + "=\"" + xml_escaped(attribute.value) + "\"";
    }
    if (std::ranges::find(void_elements, name) != void_elements.end()) {
      return Markup(text + "/>");
    }
    return Markup(text + ">" + content.str() + "</" + std::string(name) + ">");
  }
};

Markup text(std::string_view content) {
  return Markup(xml_escaped(content));
}

namespace {

// Lines may break behind these characters.
Markup breakable(std::string_view name, std::string_view breaks) {
  Markup content;
  while (true) {
    const std::size_t end = name.find_first_of(breaks);
    if (end == std::string_view::npos || end + 1 == name.size()) return content + text(name);
    content += text(name.substr(0, end + 1)) + element("wbr", Markup());
    name.remove_prefix(end + 1);
  }
}

}  // namespace

Markup foreign(std::string_view name) {
  return element("bdi", breakable(name, "/_"));
}

Markup element(std::string_view name, const Attributes& attributes, const Markup& content) {
  return ElementWriter::write(name, attributes, content);
}

Markup element(std::string_view name, const Markup& content) {
  return element(name, Attributes{}, content);
}

Markup element(std::string_view name, std::string_view content) {
  return element(name, Attributes{}, text(content));
}

Markup element(std::string_view name, std::string_view css_class, const Markup& content) {
  return element(name, Attributes{{"class", std::string(css_class)}}, content);
}

Markup style_sheet(std::string_view css) {
  return Markup("<style>" + std::string(css) + "</style>");
}

Markup inline_script(std::string_view script) {
  return Markup("<script>" + std::string(script) + "</script>");
}

Markup heading(int level, std::string_view content) {
  return element("h" + std::to_string(level), content);
}

std::string sentence(std::string_view words) {
  return capitalised(words) + ".";
}

std::string capitalised(std::string_view words) {
  std::string result(words);
  if (!result.empty() && result[0] >= 'a' && result[0] <= 'z') {
    result[0] = static_cast<char>(result[0] - 'a' + 'A');
  }
  return result;
}

Markup paragraph(std::string_view content) {
  return element("p", content);
}

Markup code(std::string_view content) {
  return element("code", breakable(content, "._"));
}

Markup bullets(const std::vector<Markup>& items) {
  Markup content;
  for (const Markup& item : items) content += element("li", item);
  return element("ul", content);
}

}  // namespace gqa::html
