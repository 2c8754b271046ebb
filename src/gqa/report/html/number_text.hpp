// Numbers for people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace gqa::html {

/// Three figures: "0.496", "12.3", "3.24×10⁷", "infinite", "NaN".
std::string figure(double value);
/// Nine figures, as binary32 needs.
std::string precise(double value);
/// "1/8", "1", "64" and beyond "2²⁵", "2⁻⁷".
std::string power_of_two(int exponent);
/// "1,234,567".
std::string grouped(std::int64_t value);
/// "1 case", "3 cases", "2 entries".
std::string counted(std::int64_t count, std::string_view noun);

}  // namespace gqa::html
