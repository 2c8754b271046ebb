// Reading typed fields and nested arrays out of fixture documents.
#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "gqa/attention/tensor.hpp"
#include "gqa/error.hpp"
#include "gqa/io/json_reader.hpp"

namespace gqa {

/// Errors of its functions are "fixture.field_type", "fixture.missing_field",
/// "fixture.unknown_field".
inline constexpr JsonReader fixture_reader{"fixture"};
/// What its require_known calls the document.
inline constexpr const char* fixture_format = "the fixture format";

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
    if (!node.is_array()) fixture_reader.wrong_type(node, place, "a nested array");
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
