// Probes as files, for implementations that cannot be loaded.
#pragma once

#include <filesystem>
#include <vector>

#include "gqa/diagnose/probes/probe_run.hpp"

namespace gqa::program {

/// Writes every probe as DIR/NAME.safetensors: the tensors, and the contract in the metadata. Those
/// of strided rows, which no file holds, are left out.
///
/// Result: how many were written. Errors: InputError "file.unwritable".
std::size_t write_probes(const std::filesystem::path& directory, ElementType type);

/// The probes of DIR with their outputs: tensor `output` of NAME.safetensors, or the array of
/// NAME.output.npy. A probe without an output comes back unsupported.
///
/// Errors: InputError at the file: "probe.none_found", "probe.changed" (a file's inputs are not
/// the probe's), "probe.output_shape", "probe.output_type", and those of the readers.
std::vector<ProbeResult> read_answers(const std::filesystem::path& directory, ElementType& type);

}  // namespace gqa::program
