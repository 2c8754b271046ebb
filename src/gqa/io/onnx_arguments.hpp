// What a node was given: attributes checked, tensors by position, nothing overlooked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "gqa/io/onnx_model.hpp"
#include "gqa/num/rational.hpp"

namespace gqa {

/// Reads a node's attributes and tensors, remembers which were asked for, and refuses what
/// was not: an operator that gained an attribute means something else.
///
/// Errors of all members: InputError at `where: node NAME: attribute X` (input, output):
/// - "onnx.missing_attribute", "onnx.missing_input"
/// - "onnx.attribute_type", "onnx.attribute_value"
/// - "onnx.unsupported_attribute", "onnx.unsupported_input", "onnx.unsupported_output"
class OnnxArguments {
 public:
  /// `values` holds the recorded tensors by name. All arguments must outlive the object.
  OnnxArguments(const OnnxModel& model, const OnnxValues& values, const std::string& where);

  using TensorPointer = std::shared_ptr<const TypedTensor>;

  /// The tensor at a position; null if it was left out.
  TensorPointer input(std::size_t position);
  TensorPointer required_input(std::size_t position, const std::string& name);
  /// Null also if the graph does not give it out, so that it was not recorded.
  TensorPointer output(std::size_t position);

  std::optional<std::int64_t> integer(const std::string& name);
  /// Within [smallest, largest]; `fallback` if it is absent.
  std::int64_t integer(const std::string& name, std::int64_t fallback, std::int64_t smallest,
                       std::int64_t largest);
  std::int64_t head_count(const std::string& name);
  /// The exact value of a finite FLOAT.
  std::optional<Rational> number(const std::string& name);
  std::string text(const std::string& name, const std::string& fallback);

  [[noreturn]] void fail(const char* code, const std::string& place,
                         const std::string& reason) const;
  /// Refuses every attribute, input and recorded output that nobody has asked for.
  void finish() const;

 private:
  template <class T>
  const T* attribute(const std::string& name);

  const OnnxNode& node_;
  const OnnxValues& values_;
  std::string where_;
  std::set<std::string> attributes_read_;
  std::set<std::size_t> inputs_read_;
  std::set<std::size_t> outputs_read_;
};

}  // namespace gqa
