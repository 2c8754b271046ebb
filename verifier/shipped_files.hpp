// Files that come with the program.
#pragma once

#include <filesystem>

namespace gqa::program {

/// Where "fixtures/exact", for one, is: below ../share/gqaverify of the running program (which may
/// have been moved with it), where it was installed, or else among the sources.
std::filesystem::path shipped_files(const std::filesystem::path& name);

}  // namespace gqa::program
