// Foreign text that may be shown on a terminal, and UTF-8 read one character at a time.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gqa {

/// One character of UTF-8 (RFC 3629). A byte that begins none, an overlong form or a surrogate is
/// one replacement character of one byte.
struct Utf8Character {
  char32_t character = 0xFFFD;
  std::size_t bytes = 1;

  bool is_malformed() const { return character == 0xFFFD && bytes == 1; }
};
/// The first character. Precondition: `text` is not empty.
Utf8Character first_character(std::string_view text);

/// The same text with everything escaped that makes a terminal do more than show it: control
/// characters (C0, DEL, C1), those that turn the direction of text (U+202A to U+202E, U+2066 to
/// U+2069) and line or paragraph separators as \uNNNN; bytes that are not UTF-8 as \xNN. Line ends
/// are escaped too: foreign text cannot add a line to a report.
std::string printable_line(std::string_view text);

/// As printable_line, but line ends and tabs stay: for whole reports, of which every foreign part
/// went through printable_line before. JSON stays JSON: its strings know \uNNNN.
std::string printable_text(std::string_view text);

}  // namespace gqa
