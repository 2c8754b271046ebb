// The safetensors format: named tensors behind a JSON header.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "gqa/attention/typed_tensor.hpp"

namespace gqa {

/// The largest header, in bytes, that is read or written.
inline constexpr std::size_t max_safetensors_header = 100'000'000;

struct SafetensorsFile {
  std::map<std::string, std::string> metadata;  ///< the header's `__metadata__`
  std::map<std::string, TypedTensor> tensors;
};

/// Reads a file: a little-endian u64 header length N, N bytes of JSON, then the
/// tensors' row-major bytes without holes or overlaps, to the end of the file.
///
/// Accepted dtypes: F64 F32 F16 BF16 F8_E4M3 F8_E5M2 BOOL I8 U8 I32 I64.
///
/// Errors, all InputError at `where`, `where: header`, `where: tensor NAME` or
/// `where: tensor NAME: field`:
/// - "safetensors.truncated": shorter than its length field, header or a tensor needs
/// - "safetensors.header_too_large"
/// - "safetensors.syntax": the header is not one JSON object from its first byte to
///   its padding of spaces, or not UTF-8
/// - "safetensors.too_deep", "safetensors.duplicate_key"
/// - "safetensors.bad_metadata": `__metadata__` does not map strings to strings
/// - "safetensors.missing_field", "safetensors.unknown_field", "safetensors.bad_field"
///   (of the wrong JSON type, a number that is no integer, is negative or beyond 2^63 - 1)
/// - "safetensors.unknown_dtype"
/// - "safetensors.too_large": more than 2^62 elements
/// - "safetensors.size_mismatch": data_offsets do not fit shape and dtype
/// - "safetensors.hole", "safetensors.overlap": bytes that no, or two, tensors own
///
/// Source: the format description in the README of the safetensors project.
SafetensorsFile parse_safetensors(std::span<const std::byte> bytes, const std::string& where);

/// As parse_safetensors, and the errors of read_file.
SafetensorsFile read_safetensors(const std::filesystem::path& path);

/// The bytes of a file. The same content always gives the same bytes: tensors by
/// falling element size, then by name, and a header padded to a multiple of 8, so
/// that every tensor is aligned.
///
/// Errors: InputError at `tensor NAME`: "safetensors.reserved_name" (`__metadata__`),
/// "safetensors.size_mismatch" (bytes do not fit the shape), those of element_count;
/// at `header`: "safetensors.invalid_utf8", "safetensors.header_too_large".
std::vector<std::byte> serialize_safetensors(const SafetensorsFile& file);

/// Writes serialize_safetensors(file) in one step (see write_file_atomically).
void write_safetensors(const std::filesystem::path& path, const SafetensorsFile& file);

}  // namespace gqa
