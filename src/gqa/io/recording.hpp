// A recorded attention problem: tensors by name, and the contract the file declares.
#pragma once

#include <filesystem>
#include <string>

#include "gqa/attention/attention_problem.hpp"
#include "gqa/attention/contract.hpp"

namespace gqa {

struct Recording {
  std::string path;
  ProblemTensors tensors;
  Contract contract;
};

/// Reads a .safetensors file: tensors as assign_tensors takes them, the contract from the
/// metadata key "attention" (a JSON object), if there is one.
///
/// Errors: those of read_safetensors, of assign_tensors and of read_contract, each at the
/// file and field. Other kinds: see read_recordings.
Recording read_recording(const std::filesystem::path& path);

}  // namespace gqa
