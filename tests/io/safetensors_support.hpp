// Safetensors files put together by hand, right or wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace gqa::test {

/// The header's length, the header as it is, and `buffer_size` zero bytes.
inline std::vector<std::byte> with_header(const std::string& header, std::size_t buffer_size) {
  std::vector<std::byte> bytes;
  for (unsigned shift = 0; shift < 64; shift += 8) {
    bytes.push_back(static_cast<std::byte>(std::uint64_t{header.size()} >> shift));
  }
  for (const char c : header) bytes.push_back(static_cast<std::byte>(c));
  bytes.resize(bytes.size() + buffer_size);
  return bytes;
}

inline std::vector<std::byte> with_header(const std::string& header,
                                          std::initializer_list<int> buffer) {
  std::vector<std::byte> bytes = with_header(header, 0);
  for (const int byte : buffer) bytes.push_back(static_cast<std::byte>(byte));
  return bytes;
}

}  // namespace gqa::test
