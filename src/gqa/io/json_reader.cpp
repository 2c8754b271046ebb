#include "gqa/io/json_reader.hpp"

#include <fmt/format.h>

#include <limits>

#include "gqa/error.hpp"

namespace gqa {

using nlohmann::json;

std::string field_place(std::string_view where, std::string_view field) {
  return fmt::format("{}{}{}", where, where.empty() ? "" : ": ", field);
}

void JsonReader::wrong_type(const json& value, std::string_view where, const char* expected) const {
  constexpr std::size_t most = 60;
  std::string text = value.dump(-1, ' ', true);
  if (text.size() > most) text = text.substr(0, most - 3) + "...";
  throw InputError(code("field_type"), std::string(where),
                   fmt::format("holds {}; expected {}", text, expected));
}

std::string JsonReader::text(const json& value, std::string_view where) const {
  if (!value.is_string()) wrong_type(value, where, "a string");
  return value.get<std::string>();
}

std::int64_t JsonReader::integer(const json& value, std::string_view where) const {
  const bool fits = value.is_number_integer() &&
                    (!value.is_number_unsigned() ||
                     value.get<std::uint64_t>() <= std::numeric_limits<std::int64_t>::max());
  if (!fits) wrong_type(value, where, "an integer");
  return value.get<std::int64_t>();
}

bool JsonReader::flag(const json& value, std::string_view where) const {
  if (!value.is_boolean()) wrong_type(value, where, "true or false");
  return value.get<bool>();
}

const json& JsonReader::list(const json& value, std::string_view where) const {
  if (!value.is_array()) wrong_type(value, where, "a list");
  return value;
}

std::vector<std::int64_t> JsonReader::integers(const json& value, std::string_view where) const {
  if (!value.is_array()) wrong_type(value, where, "a list of integers");
  std::vector<std::int64_t> list;
  for (const json& entry : value) list.push_back(integer(entry, where));
  return list;
}

const json& JsonReader::object(const json& value, std::string_view where) const {
  if (!value.is_object()) wrong_type(value, where, "an object");
  return value;
}

const json& JsonReader::required(const json& object, std::string_view field,
                                 std::string_view where) const {
  const auto found = object.find(field);
  if (found == object.end()) {
    throw InputError(code("missing_field"), field_place(where, field), "is missing");
  }
  return *found;
}

void JsonReader::require_known(const json& value, const std::set<std::string>& known,
                               std::string_view where, const char* what) const {
  for (const auto& [field, unused] : object(value, where).items()) {
    if (known.contains(field)) continue;
    throw InputError(code("unknown_field"), field_place(where, field),
                     fmt::format("is not a field of {}", what));
  }
}

}  // namespace gqa
