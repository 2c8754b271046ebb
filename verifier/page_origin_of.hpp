// Where the pages of this run come from.
#pragma once

#include <string>
#include <vector>

#include "gqa/report/html/page_origin.hpp"

namespace gqa::program {

/// To be called once, before any page: the words behind the program's name.
void remember_command(const std::vector<std::string>& words);

/// Now (or $SOURCE_DATE_EPOCH, for pages that must not change from day to day), the command, and
/// the files at `paths` with their digests; of a directory those in it, at most a thousand.
PageOrigin page_origin(const std::vector<std::string>& paths);

}  // namespace gqa::program
