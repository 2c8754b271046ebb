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

std::string counted(std::int64_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace gqa::program
