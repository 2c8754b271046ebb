#include "gqa/io/onnx_arguments.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "gqa/error.hpp"
#include "gqa/io/json.hpp"

namespace gqa {

OnnxArguments::OnnxArguments(const OnnxModel& model, const OnnxValues& values,
                             const std::string& where)
    : node_(model.node),
      values_(values),
      where_(fmt::format("{}: node {}", where, printable(model.node.operator_name))) {}

void OnnxArguments::fail(const char* code, const std::string& place,
                         const std::string& reason) const {
  throw InputError(code, fmt::format("{}: {}", where_, place), reason);
}

OnnxArguments::TensorPointer OnnxArguments::input(std::size_t position) {
  inputs_read_.insert(position);
  if (position >= node_.inputs.size() || node_.inputs[position].empty()) return nullptr;
  const auto value = values_.find(node_.inputs[position]);
  if (value == values_.end()) {
    fail("onnx.missing_input", fmt::format("input {}", position),
         fmt::format("\"{}\" was not recorded", printable(node_.inputs[position])));
  }
  return value->second;
}

OnnxArguments::TensorPointer OnnxArguments::required_input(std::size_t position,
                                                           const std::string& name) {
  TensorPointer tensor = input(position);
  if (!tensor) fail("onnx.missing_input", fmt::format("input {}", position), name + " is absent");
  return tensor;
}

OnnxArguments::TensorPointer OnnxArguments::output(std::size_t position) {
  outputs_read_.insert(position);
  if (position >= node_.outputs.size()) return nullptr;
  const auto value = values_.find(node_.outputs[position]);
  return value == values_.end() ? nullptr : value->second;
}

template <class T>
const T* OnnxArguments::attribute(const std::string& name) {
  attributes_read_.insert(name);
  const auto attribute = node_.attributes.find(name);
  if (attribute == node_.attributes.end()) return nullptr;
  const T* value = std::get_if<T>(&attribute->second);
  if (value == nullptr) {
    fail("onnx.attribute_type", "attribute " + name, "is of another type than the operator's");
  }
  return value;
}

std::optional<std::int64_t> OnnxArguments::integer(const std::string& name) {
  const auto* value = attribute<std::int64_t>(name);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::int64_t OnnxArguments::integer(const std::string& name, std::int64_t fallback,
                                    std::int64_t smallest, std::int64_t largest) {
  const std::int64_t value = integer(name).value_or(fallback);
  if (value < smallest || value > largest) {
    fail("onnx.attribute_value", "attribute " + name,
         fmt::format("is {}; expected {} to {}", value, smallest, largest));
  }
  return value;
}

std::int64_t OnnxArguments::head_count(const std::string& name) {
  if (!integer(name)) fail("onnx.missing_attribute", "attribute " + name, "is needed and absent");
  return integer(name, 0, 1, std::numeric_limits<std::int32_t>::max());
}

std::optional<Rational> OnnxArguments::number(const std::string& name) {
  const auto* value = attribute<float>(name);
  if (value == nullptr) return std::nullopt;
  if (!std::isfinite(*value)) {
    fail("onnx.attribute_value", "attribute " + name, "is not a finite number");
  }
  return rational_from_double(static_cast<double>(*value));
}

std::string OnnxArguments::text(const std::string& name, const std::string& fallback) {
  const auto* value = attribute<std::string>(name);
  return value == nullptr ? fallback : *value;
}

void OnnxArguments::finish() const {
  for (const auto& [name, value] : node_.attributes) {
    if (attributes_read_.contains(name)) continue;
    fail("onnx.unsupported_attribute", "attribute " + printable(name),
         "is no attribute of this operator version that maps onto the contract");
  }
  for (std::size_t position = 0; position < node_.inputs.size(); ++position) {
    if (inputs_read_.contains(position) || node_.inputs[position].empty()) continue;
    fail("onnx.unsupported_input", fmt::format("input {}", position),
         fmt::format("\"{}\" does not map onto the contract", printable(node_.inputs[position])));
  }
  for (std::size_t position = 0; position < node_.outputs.size(); ++position) {
    if (outputs_read_.contains(position) || !values_.contains(node_.outputs[position])) continue;
    fail("onnx.unsupported_output", fmt::format("output {}", position),
         fmt::format("\"{}\" does not map onto the contract", printable(node_.outputs[position])));
  }
}

}  // namespace gqa
