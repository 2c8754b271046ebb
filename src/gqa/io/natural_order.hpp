// The order of names in which people count: case2 before case10.
#pragma once

#include <filesystem>
#include <string_view>

namespace gqa {

/// Is `a` before `b`, runs of digits compared by their value and all else by its bytes? A total
/// order: names that differ in leading zeros alone are ordered by their bytes.
bool natural_less(std::string_view a, std::string_view b);

/// The same for paths, folder by folder.
bool natural_path_less(const std::filesystem::path& a, const std::filesystem::path& b);

}  // namespace gqa
