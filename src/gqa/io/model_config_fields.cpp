#include "gqa/io/model_config_fields.hpp"

#include <fmt/format.h>

#include "gqa/error.hpp"
#include "gqa/io/json_reader.hpp"

namespace gqa {

using nlohmann::json;

namespace {
constexpr JsonReader config_reader{"model_config"};
}  // namespace

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
  const std::int64_t count = config_reader.integer(*value, place(field));
  if (count <= 0) fail("model_config.not_positive", field, "must be positive");
  if (count > max_model_count) {
    config_reader.wrong_type(*value, place(field), "an integer of at most 2^30");
  }
  return count;
}

std::int64_t ModelConfigFields::count_or_class(const std::string& field,
                                               std::optional<std::int64_t> of_class) {
  if (!nested_ || !absent(field) || !of_class) return count(field);
  note_class_default(field, *of_class);
  return *of_class;
}

std::optional<bool> ModelConfigFields::flag(const std::string& field) const {
  if (!states(field)) return std::nullopt;
  return config_reader.flag(*find(field), place(field));
}

std::optional<std::string> ModelConfigFields::text(const std::string& field) const {
  if (!states(field)) return std::nullopt;
  return config_reader.text(*find(field), place(field));
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

}  // namespace gqa
