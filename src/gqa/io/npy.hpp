// NumPy's .npy format: one tensor behind a header.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "gqa/attention/typed_tensor.hpp"

namespace gqa {

/// Reads a file of version 1.0, 2.0 or 3.0. Fortran order is transposed and big-endian
/// elements are swapped, so that the tensor is row-major and little-endian.
///
/// Accepted dtypes: f8 f4 f2 b1 i1 u1 i4 i8.
///
/// Errors, all InputError, at `where` unless another place is named:
/// - "npy.bad_magic", "npy.unsupported_version", "npy.header_too_large"
/// - "npy.truncated", "npy.trailing_bytes": the file's length does not fit the header
/// - at `where: header`: "npy.syntax": not a dictionary literal, padding and a newline
/// - at `where: header: KEY`: "npy.duplicate_key", "npy.missing_key", "npy.unknown_key"
/// - at `where: header: descr`: "npy.unknown_dtype"; "npy.ambiguous_dtype" (V2, V1, f1:
///   what NumPy makes of bfloat16 and 8-bit floats)
/// - at `where: header: shape`: "npy.too_large": more than 2^62 elements
///
/// Source: NumPy's documentation, numpy.lib.format.
TypedTensor parse_npy(std::span<const std::byte> bytes, const std::string& where);

/// As parse_npy, and the errors of read_file.
TypedTensor read_npy(const std::filesystem::path& path);

}  // namespace gqa
