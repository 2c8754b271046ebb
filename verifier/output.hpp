// Where results go: text for people, JSON for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace gqa::program {

/// Writes `text` to standard output, unless JSON goes there.
/// `json_path`: empty: no JSON; "-": JSON alone on standard output; otherwise a file, written
/// to a temporary name and renamed.
/// Errors: InputError "file.unwritable".
void write_results(const std::string& text, const nlohmann::ordered_json& json,
                   const std::string& json_path);

/// "1 element", "3 elements".
std::string counted(std::int64_t count, const std::string& noun);

}  // namespace gqa::program
