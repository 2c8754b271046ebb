// Where results go: text and pages for people, JSON for programs.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

namespace gqa::program {

/// -q: text for people is not written. JSON and pages that were asked for are.
void be_quiet();

/// Writes `text` to standard output, unless be_quiet was called, and has it written to the end.
/// Errors: InputError "file.unwritable": a full disk or a closed pipe must not look like success.
void print_text(const std::string& text);

/// Writes `text` to standard output, unless JSON goes there.
/// `json_path`: empty: no JSON; "-": JSON alone on standard output; otherwise a file, written
/// to a temporary name and renamed. A file that cannot be written keeps nobody from the text.
/// Errors: InputError "file.unwritable", the first one, after everything else was written.
void write_results(const std::string& text, const nlohmann::ordered_json& json,
                   const std::string& json_path);

/// --json and --html of commands that have both, --junit and --witness of those that have them.
struct OutputFiles {
  std::string json;
  std::string html;
  std::string junit;
  std::string witness;

  /// Two of them on standard output are wrong usage. A command adds --junit and --witness itself.
  void add_to(CLI::App& command);
};

using MakeText = std::function<std::string()>;

/// The same, with a page of HTML, a JUnit report and a witness, which are made only if they were
/// asked for.
void write_results(const std::string& text, const nlohmann::ordered_json& json,
                   const OutputFiles& files, const MakeText& page, const MakeText& junit = {},
                   const MakeText& witness = {});

/// "1 element", "3 elements".
std::string counted(std::int64_t count, const std::string& noun);

}  // namespace gqa::program
