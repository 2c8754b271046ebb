// Reading typed fields and nested arrays out of fixture documents.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gqa/attention/tensor.hpp"
#include "gqa/error.hpp"

namespace gqa {

/// The value of a required field. Errors: InputError "fixture.missing_field". (Views, because GCC
/// 14 takes what is returned for a part of a temporary string.)
const nlohmann::json& required_field(const nlohmann::json& object, std::string_view field,
                                     std::string_view where);

/// Errors: InputError "fixture.unknown_field" for a field outside `known`;
/// "fixture.field_type" if `object` is not an object.
void require_known_fields(const nlohmann::json& object, const std::set<std::string>& known,
                          const std::string& where);

/// Typed values. Errors: InputError "fixture.field_type".
std::string string_field(const nlohmann::json& value, const std::string& where);
std::int64_t integer_field(const nlohmann::json& value, const std::string& where);
bool boolean_field(const nlohmann::json& value, const std::string& where);
const nlohmann::json& list_field(const nlohmann::json& value, std::string_view where);
std::vector<std::int64_t> integer_list(const nlohmann::json& value, const std::string& where);

[[noreturn]] void wrong_field_type(const nlohmann::json& value, const std::string& where,
                                   const char* expected);

/// The extents of a nested array of the given rank; children decide below the first.
Shape nested_shape(const nlohmann::json& value, std::size_t rank, const std::string& where);

/// A nested array of exactly `rank` levels as a tensor; `read` turns a leaf and its place
/// into an element. Errors: InputError "fixture.ragged", "fixture.field_type".
template <class T, class Read>
Tensor<T> nested_tensor(const nlohmann::json& value, std::size_t rank, const std::string& where,
                        Read read) {
  const Shape shape = nested_shape(value, rank, where);
  std::vector<T> data;
  const auto walk = [&](const auto& self, const nlohmann::json& node, std::size_t axis,
                        const std::string& place) -> void {
    if (axis == rank) {
      data.push_back(read(node, place));
      return;
    }
    if (!node.is_array()) wrong_field_type(node, place, "a nested array");
    if (static_cast<std::int64_t>(node.size()) != shape[axis]) {
      throw InputError(
          "fixture.ragged", place,
          fmt::format("has {} entries where its neighbours have {}", node.size(), shape[axis]));
    }
    for (std::size_t i = 0; i < node.size(); ++i) {
      self(self, node[i], axis + 1, fmt::format("{}[{}]", place, i));
    }
  };
  walk(walk, value, 0, where);
  return Tensor<T>(shape, std::move(data));
}

}  // namespace gqa
