// A recorded attention problem: tensors by name, and the contract the file declares.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "gqa/attention/attention_problem.hpp"
#include "gqa/attention/contract.hpp"
#include "gqa/io/tensor_slots.hpp"

namespace gqa {

struct Recording {
  std::string path;  ///< "FILE", or "FILE: PREFIX" of one among several
  ProblemTensors tensors;
  Contract contract;
  std::string held = {};  ///< what the file holds, in words, for messages; empty: not known
};

/// The recordings that the tensors of one file are (assign_tensors), each with its path.
/// Errors: those of assign_tensors; "contract.missing_tensor" at `path: NAME`: one without query,
/// key or value.
std::vector<Recording> recordings_of(std::map<std::string, TypedTensor>&& tensors,
                                     const std::string& path, const TensorChoice& choice = {});

/// Reads a .safetensors file: tensors as recordings_of takes them, the contract from the
/// metadata key "attention" (a JSON object), if there is one.
///
/// Errors: those of read_safetensors, of recordings_of and of read_contract, each at the
/// file and field. Other kinds: see read_recordings.
std::vector<Recording> read_safetensors_recordings(const std::filesystem::path& path,
                                                   const TensorChoice& choice = {});

/// The same for a file with one recording.
/// Errors: "recording.several" at the path where it holds more.
Recording read_recording(const std::filesystem::path& path);

}  // namespace gqa
