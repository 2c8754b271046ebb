// Outputs that would destroy an input, found before the work begins.
#pragma once

#include <CLI/CLI.hpp>

namespace gqa::program {

/// Looks at every option of a parsed command, whatever the command does with it: --json, --html,
/// --junit, --witness and --journal are outputs; every other value that names an existing file or
/// folder is taken for an input.
///
/// Errors: InputError at the flag: "output.is_input" (the same file under any name, or a file that
/// a folder among the inputs would be read with); "output.stated_twice" (two outputs, one file);
/// those of require_writable.
void check_outputs(const CLI::App& command);

}  // namespace gqa::program
