#include "gqa/exact/json_fields.hpp"

#include <cstdint>
#include <limits>

namespace gqa {

using nlohmann::json;

void wrong_field_type(const json& value, const std::string& where, const char* expected) {
  std::string text = value.dump();
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  throw InputError("fixture.field_type", where,
                   fmt::format("holds {}; expected {}", text, expected));
}

const json& required_field(const json& object, std::string_view field, std::string_view where) {
  const auto found = object.find(field);
  if (found == object.end()) {
    throw InputError("fixture.missing_field",
                     fmt::format("{}{}{}", where, where.empty() ? "" : ": ", field), "is missing");
  }
  return *found;
}

void require_known_fields(const json& object, const std::set<std::string>& known,
                          const std::string& where) {
  if (!object.is_object()) wrong_field_type(object, where, "an object");
  for (const auto& [field, value] : object.items()) {
    if (!known.contains(field)) {
      throw InputError("fixture.unknown_field", where.empty() ? field : where + ": " + field,
                       "is not a field of the fixture format");
    }
  }
}

std::string string_field(const json& value, const std::string& where) {
  if (!value.is_string()) wrong_field_type(value, where, "a string");
  return value.get<std::string>();
}

std::int64_t integer_field(const json& value, const std::string& where) {
  // Beyond 2^63 - 1 the library would wrap around to a negative number.
  const bool fits = value.is_number_integer() &&
                    (!value.is_number_unsigned() ||
                     value.get<std::uint64_t>() <= std::numeric_limits<std::int64_t>::max());
  if (!fits) wrong_field_type(value, where, "an integer");
  return value.get<std::int64_t>();
}

bool boolean_field(const json& value, const std::string& where) {
  if (!value.is_boolean()) wrong_field_type(value, where, "true or false");
  return value.get<bool>();
}

// Looping over null runs no time at all, and what it should have stated is never checked.
const json& list_field(const json& value, std::string_view where) {
  if (!value.is_array()) wrong_field_type(value, std::string(where), "a list");
  return value;
}

std::vector<std::int64_t> integer_list(const json& value, const std::string& where) {
  if (!value.is_array()) wrong_field_type(value, where, "a list of integers");
  std::vector<std::int64_t> list;
  for (const json& entry : value) list.push_back(integer_field(entry, where));
  return list;
}

Shape nested_shape(const json& value, std::size_t rank, const std::string& where) {
  Shape shape;
  const json* node = &value;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (node == nullptr) {
      shape.push_back(0);
      continue;
    }
    if (!node->is_array()) wrong_field_type(*node, where, "a nested array");
    shape.push_back(static_cast<std::int64_t>(node->size()));
    node = node->empty() ? nullptr : &(*node)[0];
  }
  return shape;
}

}  // namespace gqa
