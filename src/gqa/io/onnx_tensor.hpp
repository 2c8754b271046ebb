// ONNX tensors: TensorProto messages, as in the .pb files of backend tests.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "gqa/attention/typed_tensor.hpp"

namespace gqa {

class ProtobufReader;

struct OnnxTensor {
  std::string name;  ///< may be empty
  TypedTensor tensor;
};

/// Reads a TensorProto: FLOAT, FLOAT16, BFLOAT16, DOUBLE, BOOL, INT8, UINT8, INT32, INT64,
/// FLOAT8E4M3FN or FLOAT8E5M2, from raw_data or the typed field that the type uses.
///
/// Errors, all InputError at `where` or `where: FIELD`: those of ProtobufReader and
/// - "onnx.unsupported_type": another data_type; "onnx.missing_field": none at all
/// - "onnx.external_data", "onnx.segment": the data, or a part, lies elsewhere
/// - "onnx.negative_extent", "onnx.too_large": dims
/// - "onnx.two_data_fields": more than one field holds data
/// - "onnx.wrong_data_field": a typed field that this data_type does not use
/// - "onnx.size_mismatch": data and dims do not fit
/// - "onnx.value_out_of_range": an int32_data element that the data_type cannot hold
///
/// Source: onnx.proto of ONNX, message TensorProto.
OnnxTensor parse_onnx_tensor(std::span<const std::byte> bytes, const std::string& where);

/// The same from a message inside another one.
OnnxTensor parse_onnx_tensor(ProtobufReader message);

/// As parse_onnx_tensor, and the errors of read_file.
OnnxTensor read_onnx_tensor(const std::filesystem::path& path);

}  // namespace gqa
