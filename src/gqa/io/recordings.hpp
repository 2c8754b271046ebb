// Recordings of every kind, by what the path holds.
#pragma once

#include <filesystem>
#include <vector>

#include "gqa/io/recording.hpp"

namespace gqa {

/// The recordings at a path, each to be given to read_recordings:
/// - a `.safetensors` or `.npz` file, a directory of `.npy` files, or an ONNX backend test
///   (a directory with `model.onnx`) is itself;
/// - another directory stands for those in it, sorted by name. Every directory in it must
///   be a recording; files of other kinds beside recordings are left alone, and so are
///   names that start with a dot. An entry that cannot be looked at (a link that leads nowhere)
///   is among them, and refused when it is read. Suffixes count in any case (`.NPZ`).
///
/// Errors: InputError at the path: "recording.unknown_kind"; "recording.none_found" (no
/// recording in the directory); "file.not_found", "file.unreadable".
std::vector<std::filesystem::path> find_recordings(const std::filesystem::path& path);

/// Reads one path that find_recordings gave: one Recording, one for each prefix of the names in it
/// (assign_tensors), or one for each data set of a backend test, whose graph says what is what, so
/// that `choice` is not read. Never empty.
///
/// Errors: "recording.unknown_kind"; "recording.unexpected_file" (a directory of `.npy`
/// files holds something else); those of the reader of the kind, of recordings_of.
std::vector<Recording> read_recordings(const std::filesystem::path& path,
                                       const TensorChoice& choice = {});

}  // namespace gqa
