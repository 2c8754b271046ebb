// Verdicts in colour, on terminals alone.
#pragma once

#include <string>
#include <string_view>

namespace gqa::program {

/// Standard output is a terminal that shows colour and nobody asked for none (NO_COLOR,
/// no-color.org; TERM=dumb).
bool takes_colour();

/// The word that begins a line is bold and coloured where it is a verdict: green for what holds,
/// red for what does not, yellow for what is open.
std::string coloured(std::string_view text);

}  // namespace gqa::program
