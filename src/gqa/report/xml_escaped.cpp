#include <fmt/format.h>

#include <cstdint>

#include "gqa/report/junit.hpp"

namespace gqa {
namespace {

constexpr char32_t replacement = 0xFFFD;

struct Decoded {
  char32_t character = replacement;
  std::size_t bytes = 1;
};

// One character of UTF-8 (RFC 3629); a byte that begins none, an overlong form or a surrogate
// is one replacement.
Decoded decode_one(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 0;
  if (length == 0 || first > 0xF4 || text.size() < length) return {};
  char32_t character = first & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0u) != 0x80u) return {};
    character = (character << 6) | (byte(i) & 0x3Fu);
  }
  constexpr char32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = character >= 0xD800 && character <= 0xDFFF;
  if (character < smallest[length] || surrogate || character > 0x10FFFF) return {};
  return {character, length};
}

// Production [2] of XML 1.0, fifth edition.
bool is_xml(char32_t c) {
  return c == 0x9 || c == 0xA || c == 0xD || (c >= 0x20 && c <= 0xD7FF) ||
         (c >= 0xE000 && c <= 0xFFFD) || c >= 0x10000;
}

}  // namespace

std::string xml_escaped(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const auto [character, bytes] = decode_one(text);
    const std::string_view original = text.substr(0, bytes);
    text.remove_prefix(bytes);
    if (!is_xml(character) || (character == replacement && bytes == 1)) {
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
