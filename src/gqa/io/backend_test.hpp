// ONNX backend tests: a model and the inputs and outputs of its runs.
#pragma once

#include <filesystem>
#include <vector>

#include "gqa/io/recording.hpp"

namespace gqa {

/// Reads a directory with `model.onnx` and directories `test_data_set_N`, each holding
/// `input_I.pb` for every input of the graph and `output_O.pb` for every output, in the
/// graph's order. One Recording for each data set, in the order of N; its path is the data
/// set's.
///
/// Errors: InputError
/// - at the directory: "backend_test.no_data_sets"
/// - at the file: "backend_test.unexpected_file" (a data set holds another file, or one too
///   many), "backend_test.name_mismatch" (the tensor is called otherwise in the graph),
///   "file.not_found" (one too few)
/// - those of read_onnx_model, read_onnx_tensor and bind_onnx_attention
std::vector<Recording> read_backend_test(const std::filesystem::path& directory);

}  // namespace gqa
