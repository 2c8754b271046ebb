#include "gqa/printable.hpp"

#include <fmt/format.h>

#include <cstdint>

namespace gqa {
namespace {

bool is_plain(char32_t c) {
  if (c < 0x20 || (c >= 0x7F && c < 0xA0)) return false;            // C0, DEL, C1
  if (c == 0x2028 || c == 0x2029) return false;                     // line and paragraph separators
  return (c < 0x202A || c > 0x202E) && (c < 0x2066 || c > 0x2069);  // directions
}

// All ASCII and none of it to be escaped: by far the most common case.
bool is_plain_ascii(std::string_view text) {
  for (const char c : text) {
    if (c < 0x20 || c == 0x7F) return false;  // negative: not ASCII
  }
  return true;
}

std::string escaped(std::string_view text, std::string_view kept) {
  if (is_plain_ascii(text)) return std::string(text);
  std::string result;
  while (!text.empty()) {
    const Utf8Character next = first_character(text);
    const std::string_view original = text.substr(0, next.bytes);
    text.remove_prefix(next.bytes);
    if (next.is_malformed()) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(original.front()));
    } else if (!is_plain(next.character) && kept.find(original) == kept.npos) {
      result += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(next.character));
    } else {
      result += original;
    }
  }
  return result;
}

}  // namespace

Utf8Character first_character(std::string_view text) {
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

std::string printable_line(std::string_view text) {
  return escaped(text, "");
}

std::string printable_text(std::string_view text) {
  return escaped(text, "\n\t");
}

}  // namespace gqa
