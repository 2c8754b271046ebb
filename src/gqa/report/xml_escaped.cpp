#include <fmt/format.h>

#include <cstdint>

#include "gqa/printable.hpp"
#include "gqa/report/junit.hpp"

namespace gqa {
namespace {

// Production [2] of XML 1.0, fifth edition.
bool is_xml(char32_t c) {
  return c == 0x9 || c == 0xA || c == 0xD || (c >= 0x20 && c <= 0xD7FF) ||
         (c >= 0xE000 && c <= 0xFFFD) || c >= 0x10000;
}

}  // namespace

std::string xml_escaped(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const Utf8Character next = first_character(text);
    const char32_t character = next.character;
    const std::string_view original = text.substr(0, next.bytes);
    text.remove_prefix(next.bytes);
    if (!is_xml(character) || next.is_malformed()) {
      result += "\xEF\xBF\xBD";
    } else if (character < 0x20 || character == 0x7F || original == "&" || original == "<" ||
               original == ">" || original == "\"" || original == "'") {
      // A number keeps white space from being normalised, and needs no names.
      result += fmt::format("&#{};", static_cast<std::uint32_t>(character));
    } else {
      result += original;
    }
  }
  return result;
}

}  // namespace gqa
