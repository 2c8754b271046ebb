// Integers on the command line as people write them.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

namespace gqa::program {

/// Accepts an optional sign and decimal digits, without leading zeros, of what fits 64 bits. The
/// parser by itself takes 010 for eight, -1 for 2^64 - 1 where no sign is known, and the largest
/// number for whatever is beyond it.
inline CLI::Validator decimal_integer(bool is_signed = false) {
  return CLI::Validator(
      [is_signed](const std::string& text) -> std::string {
        std::string_view digits = text;
        if (is_signed && digits.starts_with('-')) digits.remove_prefix(1);
        const bool leads_with_zero = digits.size() > 1 && digits.front() == '0';
        // Of the same length, digits compare as numbers do.
        constexpr std::string_view largest = "18446744073709551615";
        constexpr std::string_view largest_signed = "9223372036854775807";
        const std::string_view limit = is_signed ? largest_signed : largest;
        const bool fits =
            digits.size() < limit.size() || (digits.size() == limit.size() && digits <= limit);
        if (!digits.empty() && digits.find_first_not_of("0123456789") == digits.npos &&
            !leads_with_zero && fits) {
          return "";
        }
        return "\"" + text + "\" is not " + (is_signed ? "an integer" : "a number without a sign") +
               " in decimal digits that fits 64 bits";
      },
      "");
}

}  // namespace gqa::program
