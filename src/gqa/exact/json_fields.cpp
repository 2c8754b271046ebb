#include "gqa/exact/json_fields.hpp"

namespace gqa {

using nlohmann::json;

Shape nested_shape(const json& value, std::size_t rank, const std::string& where) {
  Shape shape;
  const json* node = &value;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (node == nullptr) {
      shape.push_back(0);
      continue;
    }
    if (!node->is_array()) fixture_reader.wrong_type(*node, where, "a nested array");
    shape.push_back(static_cast<std::int64_t>(node->size()));
    node = node->empty() ? nullptr : &(*node)[0];
  }
  return shape;
}

}  // namespace gqa
