// Protocol Buffers messages put together by hand, right or wrong.
//
// Source: the encoding guide; nothing here is shared with the reader under test.
#pragma once

#include <bit>
#include <cstdint>
#include <string>

#include "io/npy_support.hpp"

namespace gqa::test::pb {

inline std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value > 0x7f; value >>= 7) bytes += static_cast<char>((value & 0x7f) | 0x80);
  return bytes + static_cast<char>(value);
}

inline std::string tag(unsigned field, unsigned wire_type) {
  return varint((std::uint64_t{field} << 3) | wire_type);
}

inline std::string integer(unsigned field, std::int64_t value) {
  return tag(field, 0) + varint(static_cast<std::uint64_t>(value));
}

/// Text, bytes, a message or packed scalars.
inline std::string bytes(unsigned field, const std::string& content) {
  return tag(field, 2) + varint(content.size()) + content;
}

inline std::string binary32(unsigned field, float value) {
  return tag(field, 5) + little_endian(std::bit_cast<std::uint32_t>(value), 4);
}

inline std::string binary64(unsigned field, double value) {
  return tag(field, 1) + little_endian(std::bit_cast<std::uint64_t>(value), 8);
}

/// An ONNX tensor: dims, data_type, and further fields.
inline std::string tensor(std::initializer_list<std::int64_t> dims, std::int64_t data_type,
                          const std::string& more) {
  std::string message;
  for (const std::int64_t extent : dims) message += integer(1, extent);
  return message + integer(2, data_type) + more;
}

}  // namespace gqa::test::pb
