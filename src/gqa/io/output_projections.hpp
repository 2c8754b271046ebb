// Output projections of a model's layers, from either format in which they are read.
#pragma once

#include <filesystem>
#include <vector>

#include "gqa/attention/tensor.hpp"

namespace gqa {

/// Wo of every layer, [model_size, Hq d_v]: rows are outputs, columns the heads' values side by
/// side. A `.safetensors` file holds them as `layer0`, `layer1`, ...; any other is a llama2.c
/// checkpoint.
///
/// Errors: those of read_safetensors and read_llama2c_checkpoint; InputError at `path: tensor
/// NAME`: "checkpoint.layers" (names that are not layer0 to layerN), "checkpoint.shape" (not a
/// matrix), and those of decode.
std::vector<Tensor<double>> read_output_projections(const std::filesystem::path& path);

}  // namespace gqa
