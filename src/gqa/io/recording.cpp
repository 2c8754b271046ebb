#include "gqa/io/recording.hpp"

#include <fmt/format.h>

#include <utility>

#include "gqa/error.hpp"
#include "gqa/io/contract_json.hpp"
#include "gqa/io/json.hpp"
#include "gqa/io/safetensors.hpp"

namespace gqa {
namespace {

void require_operands(const Recording& recording) {
  const ProblemTensors& tensors = recording.tensors;
  for (const auto& [tensor, name] :
       {std::pair{&tensors.query, "query"}, {&tensors.key, "key"}, {&tensors.value, "value"}}) {
    if (*tensor) continue;
    throw InputError(
        "contract.missing_tensor", fmt::format("{}: {}", recording.path, name),
        fmt::format("is needed and absent; the file holds {}; say which it is with --tensor "
                    "{}=NAME",
                    recording.held, name));
  }
}

}  // namespace

std::vector<Recording> recordings_of(std::map<std::string, TypedTensor>&& tensors,
                                     const std::string& path, const TensorChoice& choice) {
  const std::string held = held_text(tensors);
  std::vector<Recording> recordings;
  for (PrefixedTensors& part : assign_tensors(std::move(tensors), path, choice)) {
    Recording recording;
    recording.path =
        part.prefix.empty() ? path : fmt::format("{}: {}", path, printable(part.prefix));
    recording.tensors = std::move(part.tensors);
    recording.held = held;
    require_operands(recording);
    recordings.push_back(std::move(recording));
  }
  return recordings;
}

std::vector<Recording> read_safetensors_recordings(const std::filesystem::path& path,
                                                   const TensorChoice& choice) {
  SafetensorsFile file = read_safetensors(path);
  Contract contract;
  if (const auto attention = file.metadata.find("attention"); attention != file.metadata.end()) {
    const std::string where = path.string() + ": metadata attention";
    read_contract(parse_json_strictly(attention->second, where), contract, where);
  }
  std::vector<Recording> recordings = recordings_of(std::move(file.tensors), path.string(), choice);
  for (Recording& recording : recordings) recording.contract = contract;
  return recordings;
}

Recording read_recording(const std::filesystem::path& path) {
  std::vector<Recording> recordings = read_safetensors_recordings(path);
  if (recordings.size() == 1) return std::move(recordings.front());
  throw InputError("recording.several", path.string(),
                   fmt::format("holds {} recordings; one is expected", recordings.size()));
}

}  // namespace gqa
