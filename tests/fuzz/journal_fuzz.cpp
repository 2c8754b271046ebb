// Fuzz target: any bytes as a journal are read, or refused by an InputError, and stay as they were.
#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "fuzz/fuzz_target.hpp"
#include "gqa/audit/work/journal.hpp"
#include "gqa/error.hpp"
#include "gqa/io/file.hpp"

GQAVERIFY_FUZZ_TARGET(journal, ".journal") {
  static const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("gqa-fuzz-" + std::to_string(getpid()));
  const std::string text(reinterpret_cast<const char*>(data), size);
  gqa::write_file_atomically(path, text);
  try {
    gqa::Journal journal(path);
  } catch (const gqa::InputError& error) {
    if (!error.code().starts_with("journal.")) gqa::fuzz::fail();
    if (gqa::read_text_file(path) != text) gqa::fuzz::fail();
  }
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  return 0;
}
