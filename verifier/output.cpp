#include "output.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <optional>
#include <utility>

#include "colour.hpp"
#include "gqa/error.hpp"
#include "gqa/io/file.hpp"
#include "gqa/printable.hpp"

namespace gqa::program {
namespace {

// A full disk or a closed pipe must not look like success.
void print(const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0) {
    throw InputError("file.unwritable", "standard output", "cannot be written");
  }
}

bool& is_quiet() {
  static bool quiet = false;
  return quiet;
}

}  // namespace

void be_quiet() {
  is_quiet() = true;
}

void print_text(const std::string& text) {
  if (is_quiet()) return;
  const std::string printable = printable_text(text);
  print(takes_colour() ? coloured(printable) : printable);
}

void write_results(const std::string& text, const nlohmann::ordered_json& json,
                   const std::string& json_path) {
  write_results(text, json, OutputFiles{json_path, "", "", ""}, {}, {});
}

void OutputFiles::add_to(CLI::App& command) {
  command.add_option("--json", json, "Write JSON to FILE, - for standard output")
      ->type_name("FILE");
  command.add_option("--html", html, "Write a page for people to FILE, - for standard output")
      ->type_name("FILE");
  command.parse_complete_callback([this] {
    const char* taken = nullptr;
    const std::array<std::pair<const char*, const std::string*>, 3> files{
        {{"--json", &json}, {"--html", &html}, {"--junit", &junit}}};
    for (const auto& [flag, path] : files) {
      if (*path != "-") continue;
      if (taken != nullptr) {
        throw CLI::ValidationError(flag, std::string("standard output is taken by ") + taken);
      }
      taken = flag;
    }
  });
}

void write_results(const std::string& text, const nlohmann::ordered_json& json,
                   const OutputFiles& files, const MakeText& page, const MakeText& junit,
                   const MakeText& witness) {
  // Foreign text that is not UTF-8 is shown with replacement characters, never thrown on.
  const MakeText dump = [&json] {
    return printable_text(
        json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  };
  std::optional<InputError> failure;
  const auto deliver = [&failure](const std::string& path, const MakeText& make) {
    if (path.empty() || path == "-") return;
    try {
      write_file_atomically(path, make());
    } catch (const InputError& error) {
      if (!failure) failure = error;
    }
  };
  deliver(files.junit, junit);
  deliver(files.witness, witness);
  deliver(files.html, page);
  deliver(files.json, dump);
  // Whatever could not be written, what was found out is told.
  if (files.json == "-") {
    print(dump());
  } else if (files.html == "-") {
    print(page());
  } else if (files.junit == "-") {
    print(junit());
  } else {
    print_text(text);
  }
  if (failure) throw InputError(*failure);
}

std::string counted(std::int64_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace gqa::program
