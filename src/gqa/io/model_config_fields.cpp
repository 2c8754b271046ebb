#include "gqa/io/model_config_fields.hpp"

#include <fmt/format.h>

#include "gqa/error.hpp"
#include "gqa/io/json.hpp"

namespace gqa {

using nlohmann::json;

const json* ModelConfigFields::find(const std::string& field) const {
  const auto found = object_.find(field);
  return found == object_.end() ? nullptr : &*found;
}

bool ModelConfigFields::is_null(const std::string& field) const {
  const json* value = find(field);
  return value != nullptr && value->is_null();
}

std::int64_t ModelConfigFields::count(const std::string& field) const {
  const json* value = find(field);
  if (value == nullptr) missing(field, "is missing");
  if (!value->is_number_integer()) wrong_type(field, "an integer");
  const bool positive = value->is_number_unsigned() ? value->get<std::uint64_t>() > 0
                                                    : value->get<std::int64_t>() > 0;
  if (!positive) fail("model_config.not_positive", field, "must be positive");
  if (value->get<std::uint64_t>() > static_cast<std::uint64_t>(max_model_count)) {
    wrong_type(field, "an integer of at most 2^30");
  }
  return value->get<std::int64_t>();
}

std::int64_t ModelConfigFields::count_or_class(const std::string& field,
                                               std::optional<std::int64_t> of_class) {
  if (!nested_ || !absent(field) || !of_class) return count(field);
  note_class_default(field, *of_class);
  return *of_class;
}

std::optional<bool> ModelConfigFields::flag(const std::string& field) const {
  if (!states(field)) return std::nullopt;
  if (!find(field)->is_boolean()) wrong_type(field, "true or false");
  return find(field)->get<bool>();
}

std::optional<std::string> ModelConfigFields::text(const std::string& field) const {
  if (!states(field)) return std::nullopt;
  if (!find(field)->is_string()) wrong_type(field, "a string");
  return find(field)->get<std::string>();
}

void ModelConfigFields::fail(const char* code, const std::string& field,
                             const std::string& reason) const {
  throw InputError(code, place(field), reason);
}

void ModelConfigFields::missing(const std::string& field, const std::string& reason) const {
  fail("model_config.missing_field", field, reason);
}

void ModelConfigFields::note_class_default(const std::string& field, std::int64_t value) {
  class_defaults_.push_back(fmt::format("{} = {}", field, value));
}

void ModelConfigFields::wrong_type(const std::string& field, const char* expected) const {
  fail("model_config.field_type", field,
       fmt::format("holds {}; expected {}", printable(find(field)->dump()), expected));
}

}  // namespace gqa
