// .npy and .npz files put together by hand, right or wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gqa::test {

/// The `count` low bytes of `value`, little-endian.
inline std::string little_endian(std::uint64_t value, std::size_t count) {
  std::string bytes;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t rest = i < sizeof value ? value >> (8 * i) : 0;
    bytes += static_cast<char>(rest & 0xff);
  }
  return bytes;
}

/// Magic string, version, length, the dictionary as it is, and the data.
inline std::string npy(const std::string& dictionary, const std::string& data, int version = 1) {
  return std::string("\x93NUMPY") + static_cast<char>(version) + '\0' +
         little_endian(dictionary.size(), version == 1 ? 2 : 4) + dictionary + data;
}

/// The dictionary as NumPy writes it.
inline std::string npy_dictionary(const std::string& descr, const std::string& shape,
                                  const std::string& fortran_order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran_order + ", 'shape': " + shape +
         ", }   \n";
}

/// CRC-32 of ISO 3309, bit by bit.
inline std::uint32_t crc32_of(std::string_view bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320U : 0U);
  }
  return ~crc;
}

/// One entry of a zip archive; sizes and checksum as declared.
struct ZipEntry {
  std::string name;
  std::string stored;        ///< the bytes in the archive
  std::uint32_t crc = 0;     ///< of the content
  std::uint32_t size = 0;    ///< of the content
  std::uint16_t method = 0;  ///< 0 stored, 8 deflated
  std::uint16_t flags = 0;   ///< 1: encrypted

  static ZipEntry of(const std::string& name, const std::string& content) {
    return {name, content, crc32_of(content), static_cast<std::uint32_t>(content.size()), 0, 0};
  }
};

/// An archive: local headers with data, the directory, the end record (APPNOTE 4.3).
inline std::string zip(const std::vector<ZipEntry>& entries) {
  std::string file;
  std::string directory;
  for (const ZipEntry& entry : entries) {
    const std::string common = little_endian(20, 2) + little_endian(entry.flags, 2) +
                               little_endian(entry.method, 2) + little_endian(0x00210000, 4) +
                               little_endian(entry.crc, 4) + little_endian(entry.stored.size(), 4) +
                               little_endian(entry.size, 4) + little_endian(entry.name.size(), 2) +
                               little_endian(0, 2);
    directory += "PK\x01\x02" + little_endian(20, 2) + common + little_endian(0, 10) +
                 little_endian(file.size(), 4) + entry.name;
    file += "PK\x03\x04" + common + entry.name + entry.stored;
  }
  const std::string count = little_endian(entries.size(), 2);
  return file + directory + "PK\x05\x06" + little_endian(0, 4) + count + count +
         little_endian(directory.size(), 4) + little_endian(file.size(), 4) + little_endian(0, 2);
}

}  // namespace gqa::test
