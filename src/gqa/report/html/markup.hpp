// Markup that is well-formed by how it is made, and in which foreign text is always text.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gqa::html {

/// A piece of a document: text that was escaped, and whole elements. Both HTML and XML, so that
/// any XML reader can check a page.
class Markup {
 public:
  Markup() = default;
  const std::string& str() const { return content_; }
  bool is_empty() const { return content_.empty(); }
  Markup& operator+=(const Markup& other) {
    content_ += other.content_;
    return *this;
  }
  friend Markup operator+(Markup a, const Markup& b) { return std::move(a += b); }

 private:
  explicit Markup(std::string content) : content_(std::move(content)) {}
  friend Markup text(std::string_view);
  friend Markup style_sheet(std::string_view);
  friend Markup inline_script(std::string_view);
  friend class ElementWriter;

  std::string content_;
};

struct Attribute {
  std::string_view name;
  std::string value;  ///< escaped when it is written
};
using Attributes = std::vector<Attribute>;

/// `content` as characters: markup in it is escaped, what is no text becomes U+FFFD.
Markup text(std::string_view content);

/// A name from outside, such as a path: isolated, so that its direction marks stay its own; lines
/// may break behind / and _.
Markup foreign(std::string_view name);

/// <name attributes>content</name>; HTML's void elements without content as <name .../>.
Markup element(std::string_view name, const Attributes& attributes, const Markup& content = {});
Markup element(std::string_view name, const Markup& content);
Markup element(std::string_view name, std::string_view content);
/// <name class="...">.
Markup element(std::string_view name, std::string_view css_class, const Markup& content);

/// The page's own style; not escaped, so never foreign.
Markup style_sheet(std::string_view css);
/// The page's own script; not escaped, so never foreign, and without < and &.
Markup inline_script(std::string_view script);

/// A heading of a level from 1 to 6.
Markup heading(int level, std::string_view content);
/// The first letter made large: "The map" of "the map".
std::string capitalised(std::string_view words);
/// The same with a full stop: "The map is tiled." of "the map is tiled".
std::string sentence(std::string_view words);
/// <p>, <code>.
Markup paragraph(std::string_view content);
Markup code(std::string_view content);
/// A list item for each.
Markup bullets(const std::vector<Markup>& items);

}  // namespace gqa::html
