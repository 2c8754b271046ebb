// JSON read strictly: what two parsers could read differently is an error.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace gqa {

/// How deep objects and arrays may nest.
inline constexpr int max_json_depth = 64;

/// Parses one JSON text (RFC 8259).
///
/// Errors, all InputError:
/// - "json.syntax" at `where`, with the byte offset: not JSON, ill-formed UTF-8, a
///   NUL, a number beyond binary64, anything but white space behind the value;
/// - "json.duplicate_key" at `where: PATH`, PATH being that of the second key, as in
///   `contract.json: masks[2].window`;
/// - "json.too_deep" at `where: PATH` beyond max_json_depth.
///
/// An integer that does not fit 64 bits becomes a binary64: ask is_number_integer().
nlohmann::json parse_json_strictly(std::string_view text, const std::string& where);

/// Exact numbers are strings such as "1e20000", a few bytes that ask for many: refuses a document
/// whose strings have exponents (e or p, a sign, digits) of more than max_exponent_sum together.
/// Errors: InputError "json.numbers_too_large" at `where`.
void require_moderate_exponents(const nlohmann::json& document, const std::string& where);
inline constexpr std::int64_t max_exponent_sum = 4'000'000;

/// A key or other foreign text, shortened and escaped for an error message.
std::string printable(std::string_view text);

}  // namespace gqa
