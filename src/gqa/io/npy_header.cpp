#include "gqa/io/npy_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <set>

#include "gqa/error.hpp"
#include "gqa/io/json.hpp"

namespace gqa {
namespace {

constexpr std::string_view magic = "\x93NUMPY";

struct Descr {
  std::string_view kind_and_size;
  ElementType type;
};

constexpr std::array<Descr, 8> descrs{{
    {"f8", ElementType::binary64},
    {"f4", ElementType::binary32},
    {"f2", ElementType::binary16},
    {"b1", ElementType::boolean},
    {"i1", ElementType::int8},
    {"u1", ElementType::uint8},
    {"i4", ElementType::int32},
    {"i8", ElementType::int64},
}};

// Where the dictionary's text lies in the file.
struct HeaderText {
  std::string_view text;
  std::size_t offset;
};

HeaderText header_text(std::span<const std::byte> bytes, const std::string& where) {
  const std::string_view file(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!file.starts_with(magic)) {
    throw InputError("npy.bad_magic", where,
                     "does not start with the 6 bytes \\x93NUMPY at byte 0");
  }
  const auto byte = [&bytes](std::size_t at) { return std::to_integer<std::size_t>(bytes[at]); };
  if (bytes.size() < 8) {
    throw InputError("npy.truncated", where,
                     fmt::format("ends at byte {}, inside the version at byte 6", bytes.size()));
  }
  if (byte(6) < 1 || byte(6) > 3 || byte(7) != 0) {
    throw InputError("npy.unsupported_version", where,
                     fmt::format("the version at byte 6 is {}.{}; 1.0, 2.0 and 3.0 are known",
                                 byte(6), byte(7)));
  }
  const std::size_t offset = byte(6) == 1 ? 10 : 12;
  if (bytes.size() < offset) {
    throw InputError(
        "npy.truncated", where,
        fmt::format("ends at byte {}, inside the header length at byte 8", bytes.size()));
  }
  std::size_t length = 0;
  for (std::size_t at = offset; at-- > 8;) length = (length << 8) | byte(at);
  if (length > max_npy_header) {
    throw InputError(
        "npy.header_too_large", where,
        fmt::format("the header length at byte 8 is {}, more than {}", length, max_npy_header));
  }
  if (length > bytes.size() - offset) {
    throw InputError("npy.truncated", where,
                     fmt::format("the header should end at byte {}, the file ends at byte {}",
                                 offset + length, bytes.size()));
  }
  return {file.substr(offset, length), offset};
}

// Reads the literal from left to right; nothing of Python is evaluated.
class LiteralReader {
 public:
  LiteralReader(const HeaderText& header, const std::string& where)
      : text_(header.text), offset_(header.offset), where_(where) {}

  [[noreturn]] void fail(const std::string& expected) const {
    throw InputError("npy.syntax", where_,
                     fmt::format("at byte {}: expected {}", offset_ + at_, expected));
  }
  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool accept(std::string_view token) {
    skip_spaces();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) fail(fmt::format("'{}'", token));
  }
  /// A string in single or double quotes. Escapes are refused: no key or descr needs one.
  std::string_view quoted(const char* what) {
    skip_spaces();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') fail(what);
    const std::size_t end = text_.find_first_of(std::string{quote, '\\', '\n'}, at_ + 1);
    if (end == std::string_view::npos || text_[end] != quote) fail(what);
    const std::string_view content = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return content;
  }
  bool boolean() {
    if (accept("True")) return true;
    if (accept("False")) return false;
    fail("True or False");
  }
  /// "()", "(3,)", "(3, 4)"; "(3)" is a number to Python and refused.
  Shape tuple() {
    Shape shape;
    expect("(");
    bool comma = true;
    while (!accept(")")) {
      if (!comma) fail("',' or ')'");
      shape.push_back(extent());
      comma = accept(",");
    }
    if (shape.size() == 1 && !comma) fail("',' behind the extent of a tuple of one");
    return shape;
  }
  void expect_end() {
    skip_spaces();
    if (text_.substr(at_) != "\n") fail("spaces and one newline up to the end of the header");
  }
  bool at(char c) {
    skip_spaces();
    return at_ < text_.size() && text_[at_] == c;
  }

 private:
  std::int64_t extent() {
    skip_spaces();
    std::int64_t value = 0;
    const char* const begin = text_.data() + at_;
    const char* const text_end = text_.data() + text_.size();
    const auto [end, error] = std::from_chars(begin, text_end, value);
    if (error == std::errc::result_out_of_range) fail("an extent below 2^63");
    if (error != std::errc() || *begin == '-' || (*begin == '0' && end - begin > 1)) {
      fail("an extent: a number without sign, leading zeros or suffix");
    }
    at_ += static_cast<std::size_t>(end - begin);
    return value;
  }

  std::string_view text_;
  std::size_t offset_;
  const std::string& where_;
  std::size_t at_ = 0;
};

void read_descr(std::string_view descr, NpyHeader& header, const std::string& where) {
  const std::string_view kind_and_size = descr.substr(std::min<std::size_t>(1, descr.size()));
  // What ml_dtypes writes for bfloat16 and the 8-bit formats.
  if (kind_and_size.starts_with("V") || kind_and_size == "f1") {
    throw InputError("npy.ambiguous_dtype", where,
                     fmt::format("\"{}\" only says how wide an element is: bfloat16 and 8-bit "
                                 "floats have no name in .npy; write a .safetensors file",
                                 printable(descr)));
  }
  for (const Descr& known : descrs) {
    if (known.kind_and_size != kind_and_size) continue;
    const bool single_byte = element_size(known.type) == 1;
    const char order = descr.front();
    if (order == '<' || order == '>' || (order == '|' && single_byte)) {
      header.type = known.type;
      header.big_endian = order == '>';
      return;
    }
  }
  throw InputError("npy.unknown_dtype", where,
                   fmt::format("\"{}\" is not a supported dtype (f8, f4, f2, b1, i1, u1, i4 or i8 "
                               "behind < or >, or | for one byte)",
                               printable(descr)));
}

void read_value(LiteralReader& reader, std::string_view key, NpyHeader& header,
                const std::string& where) {
  if (key == "descr") {
    if (reader.at('[')) {
      throw InputError("npy.unknown_dtype", where + ": descr",
                       "is a list; structured dtypes are not supported");
    }
    read_descr(reader.quoted("a quoted dtype"), header, where + ": descr");
  } else if (key == "fortran_order") {
    header.fortran_order = reader.boolean();
  } else if (key == "shape") {
    header.shape = reader.tuple();
  } else {
    throw InputError("npy.unknown_key", fmt::format("{}: {}", where, printable(key)),
                     "is not one of descr, fortran_order and shape");
  }
}

}  // namespace

NpyHeader parse_npy_header(std::span<const std::byte> bytes, const std::string& file) {
  const HeaderText text = header_text(bytes, file);
  const std::string where = file + ": header";
  LiteralReader reader(text, where);
  NpyHeader header;
  header.data_offset = text.offset + text.text.size();
  std::set<std::string_view> keys;
  reader.expect("{");
  bool comma = true;
  while (!reader.accept("}")) {
    if (!comma) reader.fail("',' or '}'");
    const std::string_view key = reader.quoted("a quoted key");
    reader.expect(":");
    if (!keys.insert(key).second) {
      throw InputError("npy.duplicate_key", fmt::format("{}: {}", where, printable(key)),
                       "the key is given twice");
    }
    read_value(reader, key, header, where);
    comma = reader.accept(",");
  }
  reader.expect_end();
  for (const std::string_view key : {"descr", "fortran_order", "shape"}) {
    if (!keys.contains(key)) {
      throw InputError("npy.missing_key", fmt::format("{}: {}", where, key), "the key is missing");
    }
  }
  return header;
}

}  // namespace gqa
