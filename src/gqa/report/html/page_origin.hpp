// Where a page comes from: when, by what command, about which files.
#pragma once

#include <string>
#include <vector>

namespace gqa {

/// A file that was read.
struct PageInput {
  std::string path;
  std::string sha256;  ///< 64 hexadecimal digits; empty: not known
};

/// Empty fields are not told.
struct PageOrigin {
  std::string date;     ///< "2026-11-30 16:55 UTC"
  std::string command;  ///< as it was written
  std::vector<PageInput> inputs;
};

}  // namespace gqa
