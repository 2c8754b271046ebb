// SHA-256 (FIPS 180-4), so that a report says which files it is about.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

namespace gqa::program {

/// The digest of what was added so far, in pieces of any size.
class Sha256 {
 public:
  void add(std::span<const unsigned char> bytes);
  /// 64 hexadecimal digits. Nothing may be added afterwards.
  std::string digest();

 private:
  void add_block(const unsigned char* block);

  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> pending_{};
  std::size_t pending_size_ = 0;
  std::uint64_t bytes_ = 0;
};

/// As sha256sum prints it; nullopt if the file cannot be read, or is none.
std::optional<std::string> sha256_of_file(const std::filesystem::path& path);

}  // namespace gqa::program
