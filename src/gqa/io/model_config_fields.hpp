// Typed fields of a model's configuration, with their places.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gqa/io/model_family.hpp"

namespace gqa {

/// The largest layer or head count, width or window that is read: far beyond any model, and
/// small enough that no product of two overflows.
inline constexpr std::int64_t max_model_count = 1LL << 30;

/// One configuration object: the outermost of a file, or a nested one.
class ModelConfigFields {
 public:
  /// `prefix` is "FILE: " or "FILE: text_config."; both references must outlive this.
  ModelConfigFields(const nlohmann::json& object, std::string prefix, bool nested)
      : object_(object), prefix_(std::move(prefix)), nested_(nested) {}

  std::string place(const std::string& field) const { return prefix_ + field; }
  /// nullptr if the field is absent.
  const nlohmann::json* find(const std::string& field) const;
  bool absent(const std::string& field) const { return find(field) == nullptr; }
  bool is_null(const std::string& field) const;
  /// Neither absent nor null.
  bool states(const std::string& field) const { return !absent(field) && !is_null(field); }

  /// A stated positive integer. Errors: "model_config.missing_field" if absent, "field_type",
  /// "not_positive".
  std::int64_t count(const std::string& field) const;
  /// The same; where a nested configuration lacks it, the class's number, which is noted.
  std::int64_t count_or_class(const std::string& field, std::optional<std::int64_t> of_class);
  /// A stated boolean; absent or null: nullopt.
  std::optional<bool> flag(const std::string& field) const;
  /// A stated string; absent or null: nullopt.
  std::optional<std::string> text(const std::string& field) const;

  [[noreturn]] void fail(const char* code, const std::string& field,
                         const std::string& reason) const;
  [[noreturn]] void missing(const std::string& field, const std::string& reason) const;
  void note_class_default(const std::string& field, std::int64_t value);
  bool nested() const { return nested_; }
  const std::vector<std::string>& class_defaults() const { return class_defaults_; }

 private:
  const nlohmann::json& object_;
  std::string prefix_;
  bool nested_;
  std::vector<std::string> class_defaults_;
};

/// The window of every layer; see ModelConfig::layer_windows.
std::vector<std::optional<std::int64_t>> read_layer_windows(ModelConfigFields& fields,
                                                            const ModelFamily& family,
                                                            std::int64_t layers);

}  // namespace gqa
