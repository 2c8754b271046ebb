// NumPy's .npz format: a zip archive of .npy files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "gqa/attention/typed_tensor.hpp"

namespace gqa {

/// How many bytes an archive of `file_size` bytes may unpack to.
constexpr std::uint64_t max_npz_content(std::uint64_t file_size) {
  return (std::uint64_t{64} << 20) + 64 * file_size;
}

/// The tensors of an archive, by entry name without ".npy". Entries are stored or deflated.
///
/// Nothing is unpacked before every entry's declared size was checked; no more than the
/// declared sizes is ever unpacked.
///
/// Errors, all InputError, at `where` or `where: entry NAME`:
/// - "npz.not_a_zip": no consistent zip directory; "npz.empty": no entries;
///   "npz.duplicate_name"
/// - "npz.bad_name": not NAME.npy, or with a directory
/// - "npz.unsupported_entry": encrypted, or of another compression method
/// - "npz.implausible_size": a declared size that the compressed bytes cannot give
/// - "npz.overlap": the entries' compressed bytes exceed the file
/// - "npz.too_large": together more than max_npz_content
/// - "npz.corrupt": the content does not unpack to the declared size and checksum
/// - those of parse_npy at `where: entry NAME`
///
/// Sources: NumPy's documentation, numpy.savez; RFC 1951 for deflate's largest ratio.
std::map<std::string, TypedTensor> parse_npz(std::span<const std::byte> bytes,
                                             const std::string& where);

/// As parse_npz, and the errors of read_file.
std::map<std::string, TypedTensor> read_npz(const std::filesystem::path& path);

}  // namespace gqa
