// What a directory holds.
#pragma once

#include <filesystem>
#include <vector>

namespace gqa {

/// Paths of all entries whose names do not start with a dot, by name, numbers by
/// their value.
///
/// Errors: InputError at the path: "file.not_found", "file.unreadable" (also if it is no
/// directory).
std::vector<std::filesystem::path> visible_entries(const std::filesystem::path& directory);

}  // namespace gqa
