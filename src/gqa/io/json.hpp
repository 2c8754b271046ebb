// JSON read strictly: what two parsers could read differently is an error.
#pragma once

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

/// A key or other foreign text, shortened and escaped for an error message.
std::string printable(std::string_view text);

}  // namespace gqa
