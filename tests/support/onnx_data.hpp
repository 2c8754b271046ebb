// Where the recorded ONNX backend tests are, if they are anywhere.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

namespace gqa::test {

/// The folder of one release: below $GQAVERIFY_DATA, or beside the project. Says that the test is
/// skipped where there is none.
inline std::optional<std::filesystem::path> onnx_data_directory(const std::string& version) {
  namespace fs = std::filesystem;
  const char* given = std::getenv("GQAVERIFY_DATA");
  const fs::path root =
      given != nullptr ? fs::path(given) : fs::path(GQAVERIFY_SOURCE_DIR) / "../shared/data";
  const fs::path path = root / "onnx-attention" / version;
  if (fs::exists(path)) return path;
  MESSAGE("skipped: no data");
  return std::nullopt;
}

}  // namespace gqa::test
