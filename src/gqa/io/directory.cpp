#include "gqa/io/directory.hpp"

#include <algorithm>
#include <system_error>

#include "gqa/error.hpp"
#include "gqa/io/natural_order.hpp"

namespace gqa {

namespace fs = std::filesystem;

std::vector<fs::path> visible_entries(const fs::path& directory) {
  std::error_code error;
  std::vector<fs::path> entries;
  fs::directory_iterator entry(directory, error);
  while (!error && entry != fs::directory_iterator()) {
    if (!entry->path().filename().string().starts_with('.')) entries.push_back(entry->path());
    entry.increment(error);
  }
  if (error) {
    const bool missing = error == std::errc::no_such_file_or_directory;
    throw InputError(missing ? "file.not_found" : "file.unreadable", directory.string(),
                     error.message());
  }
  std::sort(entries.begin(), entries.end(), natural_path_less);
  return entries;
}

}  // namespace gqa
