// Digests of inputs, so that a journal and other machines know whether theirs are the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gqa/attention/attention_problem.hpp"
#include "gqa/audit/work/block_job.hpp"

namespace gqa {

/// A field for every tensor that is there, by its name: "binary32 [1, 8, 16, 64] 0123...":
/// element type, shape, and the CRC-64/XZ of its bytes; and the mode of qk_matmul_output.
/// Against accidents, not against malice.
std::vector<IdentityField> tensor_identity(const ProblemTensors& tensors);

/// CRC-64/XZ (ECMA-182 polynomial, reflected) and CRC-32/ISO-HDLC (of zip and PNG).
std::uint64_t crc64(std::span<const std::byte> bytes);
std::uint32_t crc32(std::string_view text);

}  // namespace gqa
