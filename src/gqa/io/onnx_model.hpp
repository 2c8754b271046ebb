// ONNX models of one node: what is computed and how its values are called.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "gqa/attention/typed_tensor.hpp"

namespace gqa {

/// An attribute of type INT, FLOAT or STRING.
using OnnxAttribute = std::variant<std::int64_t, float, std::string>;

struct OnnxNode {
  std::string domain;  ///< "" for ONNX itself, also where the file says "ai.onnx"
  std::string operator_name;
  std::vector<std::string> inputs;   ///< names of values; "" for one left out
  std::vector<std::string> outputs;  ///< likewise
  std::map<std::string, OnnxAttribute> attributes;
};

/// Tensors by the names that a graph gives them.
using OnnxValues = std::map<std::string, std::shared_ptr<const TypedTensor>>;

struct OnnxModel {
  std::map<std::string, std::int64_t> operator_sets;  ///< version by domain
  OnnxNode node;
  std::vector<std::string> inputs;   ///< of the graph, without those that are initializers
  std::vector<std::string> outputs;  ///< of the graph
  OnnxValues initializers;
};

/// Reads a ModelProto whose graph has one node.
///
/// Errors, all InputError at `where: ...` down to the field: those of ProtobufReader, those
/// of parse_onnx_tensor for initializers, and
/// - "onnx.missing_field": no graph, or a nameless value, attribute or operator
/// - "onnx.node_count": not one node; "onnx.unsupported_field": functions, sparse tensors
/// - "onnx.attribute_type": not one INT, FLOAT or STRING; "onnx.duplicate_name"
/// - "onnx.unknown_value": the node reads a value, or the graph gives one, that is not there
/// - "onnx.unused_input": the node does not read an input of the graph
///
/// Source: onnx.proto of ONNX.
OnnxModel parse_onnx_model(std::span<const std::byte> bytes, const std::string& where);

/// As parse_onnx_model, and the errors of read_file.
OnnxModel read_onnx_model(const std::filesystem::path& path);

}  // namespace gqa
