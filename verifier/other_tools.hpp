// Words of other systems for what the flags say.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gqa::program {

/// What to write for a flag that another system calls so; empty: no such word is known, or the
/// command, whose flags are `flags`, has nothing for it.
std::string_view meaning_elsewhere(std::string_view flag, const std::vector<std::string>& flags);

/// Whether a word behind "--causal=" would be taken.
bool is_value_of_causal(std::string_view word);

/// --json, --html, ...: its value is a file that is written.
bool value_is_output(std::string_view flag);

}  // namespace gqa::program
