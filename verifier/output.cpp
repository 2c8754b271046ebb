#include "output.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "gqa/error.hpp"
#include "gqa/io/file.hpp"

namespace gqa::program {
namespace {

// A full disk or a closed pipe must not look like success.
void print(const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0) {
    throw InputError("file.unwritable", "standard output", "cannot be written");
  }
}

}  // namespace

void write_results(const std::string& text, const nlohmann::ordered_json& json,
                   const std::string& json_path) {
  // Foreign text that is not UTF-8 is shown with replacement characters, never thrown on.
  const auto dump = [&json] {
    return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  };
  if (json_path == "-") {
    print(dump());
    return;
  }
  if (!json_path.empty()) write_file_atomically(json_path, dump());
  print(text);
}

void OutputFiles::add_to(CLI::App& command) {
  command.add_option("--json", json, "Write JSON to FILE, - for standard output")
      ->type_name("FILE");
  command.add_option("--html", html, "Write a page for people to FILE, - for standard output")
      ->type_name("FILE");
  command.parse_complete_callback([this] {
    if (json == "-" && html == "-") {
      throw CLI::ValidationError("--html", "standard output is taken by --json");
    }
  });
}

void write_results(const std::string& text, const nlohmann::ordered_json& json,
                   const OutputFiles& files, const std::function<std::string()>& page) {
  if (files.html == "-") {
    // The JSON's file first, as text would wait for it.
    write_results("", json, files.json);
    print(page());
    return;
  }
  if (!files.html.empty()) write_file_atomically(files.html, page());
  write_results(text, json, files.json);
}

std::string counted(std::int64_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace gqa::program
