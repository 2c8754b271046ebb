#include "page_origin_of.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "sha256.hpp"

namespace gqa::program {
namespace {

namespace fs = std::filesystem;

std::string& command() {
  static std::string text;
  return text;
}

// A word as a shell reads it back.
std::string quoted(const std::string& word) {
  constexpr const char* plain_characters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
  if (!word.empty() && word.find_first_not_of(plain_characters) == word.npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

// https://reproducible-builds.org/specs/source-date-epoch/
std::time_t date_of_page() {
  const char* stated = std::getenv("SOURCE_DATE_EPOCH");
  std::int64_t seconds = 0;
  if (stated != nullptr) {
    const char* end = stated + std::strlen(stated);
    const auto [rest, error] = std::from_chars(stated, end, seconds);
    if (error == std::errc() && rest == end && seconds >= 0)
      return static_cast<std::time_t>(seconds);
  }
  return std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
}

std::vector<fs::path> files_at(const fs::path& path) {
  constexpr std::size_t most = 1000;
  std::error_code error;
  if (!fs::is_directory(path, error)) return {path};
  std::vector<fs::path> files;
  for (fs::recursive_directory_iterator entry(path, error);
       !error && entry != fs::recursive_directory_iterator() && files.size() < most;
       entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_regular_file(ignored)) files.push_back(entry->path());
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

void remember_command(const std::vector<std::string>& words) {
  command() = "gqaverify";
  for (const std::string& word : words) command() += " " + quoted(word);
}

PageOrigin page_origin(const std::vector<std::string>& paths) {
  PageOrigin origin;
  origin.date = fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(date_of_page()));
  origin.command = command();
  for (const std::string& path : paths) {
    for (const fs::path& file : files_at(path)) {
      origin.inputs.push_back({file.string(), sha256_of_file(file).value_or("")});
    }
  }
  return origin;
}

}  // namespace gqa::program
