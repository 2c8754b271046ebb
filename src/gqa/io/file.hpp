// Whole files: reading, and writing that leaves either the old file or the new one.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gqa {

/// All bytes of a regular file or a pipe.
///
/// Errors: InputError at the path: "file.not_found"; "file.unreadable" for a
/// directory, a device, missing permission or a failing read; "file.too_large" for more bytes than
/// the machine has memory, before any is allocated.
std::vector<std::byte> read_file(const std::filesystem::path& path);

/// As read_file; the bytes are not checked to be UTF-8.
std::string read_text_file(const std::filesystem::path& path);

/// Writes a temporary file beside `path` and renames it to `path`, so that no
/// reader ever sees half a file; on failure the temporary file is removed and an
/// existing file at `path` is untouched. Symbolic links are followed, and a file that is replaced
/// keeps its permissions. Not a promise about power loss (no fsync).
///
/// Errors: InputError "file.unwritable" at the path, also if `path` exists and is
/// not a regular file (renaming would replace a device or fail on a directory).
void write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes);
void write_file_atomically(const std::filesystem::path& path, std::string_view text);

/// Throws what write_file_atomically would, as far as that can be known before there is anything to
/// write: for use before long work. Errors: InputError "file.unwritable" at the path.
void require_writable(const std::filesystem::path& path);

}  // namespace gqa
