#include "gqa/io/recording.hpp"

#include "gqa/io/contract_json.hpp"
#include "gqa/io/json.hpp"
#include "gqa/io/safetensors.hpp"
#include "gqa/io/tensor_slots.hpp"

namespace gqa {

Recording read_recording(const std::filesystem::path& path) {
  SafetensorsFile file = read_safetensors(path);
  Recording recording;
  recording.path = path.string();
  recording.tensors = assign_tensors(std::move(file.tensors), recording.path);
  if (const auto attention = file.metadata.find("attention"); attention != file.metadata.end()) {
    const std::string where = recording.path + ": metadata attention";
    read_contract(parse_json_strictly(attention->second, where), recording.contract, where);
  }
  return recording;
}

}  // namespace gqa
