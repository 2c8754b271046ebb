#include "gqa/io/output_projections.hpp"

#include <fmt/format.h>

#include "gqa/error.hpp"
#include "gqa/io/llama2c_checkpoint.hpp"
#include "gqa/io/safetensors.hpp"

namespace gqa {

std::vector<Tensor<double>> read_output_projections(const std::filesystem::path& path) {
  if (path.extension() != ".safetensors") return read_llama2c_checkpoint(path).output_projections;
  const SafetensorsFile file = read_safetensors(path);
  std::vector<Tensor<double>> projections;
  for (std::size_t layer = 0; layer < file.tensors.size(); ++layer) {
    const std::string name = fmt::format("layer{}", layer);
    const std::string where = fmt::format("{}: tensor {}", path.string(), name);
    const auto found = file.tensors.find(name);
    if (found == file.tensors.end()) {
      throw InputError("checkpoint.layers", where,
                       fmt::format("is not there, among {} tensors", file.tensors.size()));
    }
    if (found->second.shape.size() != 2) {
      throw InputError("checkpoint.shape", where, "an output projection is a matrix");
    }
    projections.push_back(decode(found->second, where));
  }
  return projections;
}

}  // namespace gqa
