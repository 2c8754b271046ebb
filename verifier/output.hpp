// Where results go: text and pages for people, JSON for programs.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

namespace gqa::program {

/// Writes `text` to standard output, unless JSON goes there.
/// `json_path`: empty: no JSON; "-": JSON alone on standard output; otherwise a file, written
/// to a temporary name and renamed.
/// Errors: InputError "file.unwritable".
void write_results(const std::string& text, const nlohmann::ordered_json& json,
                   const std::string& json_path);

/// --json and --html of commands that have both.
struct OutputFiles {
  std::string json;
  std::string html;

  /// Both on standard output are wrong usage.
  void add_to(CLI::App& command);
};

/// The same, with a page of HTML, which is made only if it was asked for.
void write_results(const std::string& text, const nlohmann::ordered_json& json,
                   const OutputFiles& files, const std::function<std::string()>& page);

/// "1 element", "3 elements".
std::string counted(std::int64_t count, const std::string& noun);

}  // namespace gqa::program
