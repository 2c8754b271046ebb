// Typed values out of JSON documents, read strictly: nothing is converted.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace gqa {

/// The reader of one kind of document: "contract", "fixture", "model_config". The kind is the first
/// part of its error codes.
///
/// Errors, all InputError: "KIND.field_type" at `where` of what is of another type than asked for.
///
/// Not used on purpose: the checker of certificates (theory/certificate_fields.hpp) shares nothing
/// that could be wrong in both; a safetensors header has a grammar of its own that decides more
/// than types; the audit's own records (audit/work/tally_record.cpp) are machine-written, and audit
/// knows no io.
class JsonReader {
 public:
  explicit constexpr JsonReader(const char* kind) : kind_(kind) {}

  std::string text(const nlohmann::json& value, std::string_view where) const;
  /// One that 64 bits hold: beyond 2^63 - 1 the library would wrap around to a negative number.
  std::int64_t integer(const nlohmann::json& value, std::string_view where) const;
  bool flag(const nlohmann::json& value, std::string_view where) const;
  /// The value itself. (Looping over null runs no time at all, and what it should have stated is
  /// never checked.)
  const nlohmann::json& list(const nlohmann::json& value, std::string_view where) const;
  std::vector<std::int64_t> integers(const nlohmann::json& value, std::string_view where) const;
  const nlohmann::json& object(const nlohmann::json& value, std::string_view where) const;

  /// The value of a field. Errors: "KIND.missing_field" at "`where`: FIELD". (Views, because GCC 14
  /// takes what is returned for a part of a temporary string.)
  const nlohmann::json& required(const nlohmann::json& object, std::string_view field,
                                 std::string_view where) const;
  /// Errors: "KIND.unknown_field" at "`where`: FIELD" for one outside `known`, which are those of
  /// `what`; "KIND.field_type" if `object` is none.
  void require_known(const nlohmann::json& object, const std::set<std::string>& known,
                     std::string_view where, const char* what) const;

  /// "holds VALUE; expected EXPECTED", the value shortened and escaped.
  [[noreturn]] void wrong_type(const nlohmann::json& value, std::string_view where,
                               const char* expected) const;

 private:
  std::string code(const char* what) const { return std::string(kind_) + "." + what; }

  const char* kind_;
};

/// "`where`: FIELD", or the field alone.
std::string field_place(std::string_view where, std::string_view field);

}  // namespace gqa
