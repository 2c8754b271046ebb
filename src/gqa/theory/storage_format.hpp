// How the elements of a KV cache are stored: plain numbers, or blocks with a shared scale.
#pragma once

#include <gmpxx.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "gqa/attention/typed_tensor.hpp"

namespace gqa {

/// Every `block_elements` consecutive elements of a row take `block_bytes` bytes.
struct StorageFormat {
  std::string name;
  std::int64_t block_elements = 1;
  std::int64_t block_bytes = 1;

  friend bool operator==(const StorageFormat&, const StorageFormat&) = default;
};

/// What to do with a row that is not a whole number of blocks.
enum class PartialBlock {
  refuse,
  pad,  ///< the row takes a whole number of blocks
};

/// The format of a plain element type.
StorageFormat storage_format(ElementType type);

/// Reads an element type by its name or PyTorch's ("binary16", "float16", "bfloat16", "int8",
/// "float8_e4m3fn", ...), a block format of ggml ("q8_0", "q5_1", "q5_0", "q4_1", "q4_0",
/// "iq4_nl"), or any other block format as "BYTES/ELEMENTS", such as "34/32".
///
/// Errors: InputError at `where`: "ledger.unknown_type"; "ledger.bad_block_format" for counts
/// that are not positive.
/// Source of the block formats: the structs of ggml-common.h in the ggml project.
StorageFormat parse_storage_format(std::string_view text, const std::string& where);

/// The bytes of a row of `elements` consecutive elements.
/// Errors: InputError "ledger.partial_block" at `where`, unless partial blocks are padded.
mpz_class row_bytes(const StorageFormat& format, std::int64_t elements, PartialBlock partial,
                    const std::string& where);

}  // namespace gqa
