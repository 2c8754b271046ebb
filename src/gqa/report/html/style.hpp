// The style of the pages.
#pragma once

#include <string_view>

namespace gqa::html {

/// One style sheet for light and dark, wide and narrow screens, and paper. Pictures take their
/// colours from its variables.
std::string_view style();

}  // namespace gqa::html
