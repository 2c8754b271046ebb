#include "gqa/io/recording.hpp"

#include <fmt/format.h>

#include <map>

#include "gqa/error.hpp"
#include "gqa/io/contract_json.hpp"
#include "gqa/io/json.hpp"
#include "gqa/io/safetensors.hpp"

namespace gqa {
namespace {

using Slot = std::shared_ptr<const TypedTensor> ProblemTensors::*;

const std::map<std::string, Slot>& slots() {
  static const std::map<std::string, Slot> table{
      {"query", &ProblemTensors::query},
      {"q", &ProblemTensors::query},
      {"key", &ProblemTensors::key},
      {"k", &ProblemTensors::key},
      {"value", &ProblemTensors::value},
      {"v", &ProblemTensors::value},
      {"output", &ProblemTensors::output},
      {"o", &ProblemTensors::output},
      {"past_key", &ProblemTensors::past_key},
      {"past_value", &ProblemTensors::past_value},
      {"attn_mask", &ProblemTensors::attn_mask},
      {"nonpad_kv_seqlen", &ProblemTensors::nonpad_kv_seqlen},
      {"sink", &ProblemTensors::sink},
      {"alibi_slopes", &ProblemTensors::alibi_slopes},
  };
  return table;
}

}  // namespace

Recording read_recording(const std::filesystem::path& path) {
  SafetensorsFile file = read_safetensors(path);
  Recording recording;
  recording.path = path.string();
  for (auto& [name, tensor] : file.tensors) {
    const auto slot = slots().find(name);
    if (slot == slots().end()) {
      throw InputError(
          "recording.unknown_tensor", recording.path,
          fmt::format("tensor \"{}\" is not part of an attention problem", printable(name)));
    }
    auto& place = recording.tensors.*(slot->second);
    if (place) {
      throw InputError("recording.tensor_stated_twice", recording.path,
                       fmt::format("tensor \"{}\" is there under its short name too", name));
    }
    place = std::make_shared<const TypedTensor>(std::move(tensor));
  }
  if (const auto attention = file.metadata.find("attention"); attention != file.metadata.end()) {
    const std::string where = recording.path + ": metadata attention";
    read_contract(parse_json_strictly(attention->second, where), recording.contract, where);
  }
  return recording;
}

}  // namespace gqa
