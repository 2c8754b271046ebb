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
/// A file that cannot be read, or is not what it must be, comes back with ProbeResult::error, which
/// ends with a code: "probe.changed" (its inputs are not the probe's), "probe.output_shape",
/// "probe.output_type", or one of the readers'.
/// Errors: InputError "probe.none_found" at the directory.
std::vector<ProbeResult> read_answers(const std::filesystem::path& directory, ElementType& type);

}  // namespace gqa::program
