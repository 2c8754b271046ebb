// What KernelHost and the program gqaverify-kernel-host say to each other.
//
// The two are built together, so that plain structs of one layout do; they are sent whole
// through a SOCK_SEQPACKET socket, and tensors lie in shared memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "gqa/kernel/abi.h"

namespace gqa::host_protocol {

/// Descriptors that the program finds open; its arguments are LIBRARY and MEMORY_BYTES.
inline constexpr int control_descriptor = 3;
inline constexpr int memory_descriptor = 4;

/// The tensors of a problem, in this order everywhere.
enum TensorIndex : std::size_t {
  query,
  key,
  value,
  past_key,
  past_value,
  attn_mask,
  nonpad_kv_seqlen,
  sink,
  alibi_slopes,
  cu_seqlens_q,
  cu_seqlens_k,
  output,
};
inline constexpr std::array<std::string_view, 12> tensor_names{"query",
                                                               "key",
                                                               "value",
                                                               "past_key",
                                                               "past_value",
                                                               "attn_mask",
                                                               "nonpad_kv_seqlen",
                                                               "sink",
                                                               "alibi_slopes",
                                                               "cu_seqlens_q",
                                                               "cu_seqlens_k",
                                                               "output"};
inline constexpr std::size_t tensor_count = tensor_names.size();
/// The regions of shared memory: one per tensor, and the list of a head map.
inline constexpr std::size_t head_map_region = tensor_count;
inline constexpr std::size_t region_count = tensor_count + 1;

/// A part of the shared memory in which nothing may be read or written.
struct Guard {
  std::uint64_t offset;
  std::uint64_t bytes;
};

enum class Operation : std::uint32_t { configure, run };

struct Request {
  Operation operation;
  std::uint32_t guard_count;
  std::uint64_t memory_bytes;  ///< run: how much of the shared memory to map
  /// run: pointers inside are null; the tensors' `data` are offsets, `present` says which are.
  gqa_kernel_problem problem;
  std::array<gqa_kernel_tensor, tensor_count> tensors;
  std::array<std::uint64_t, region_count> offsets;  ///< bytes from the start of the memory
  std::array<bool, region_count> present;
  std::array<Guard, region_count + 1> guards;
  std::array<char, 8192> options;  ///< configure: zero-terminated
};

enum class ReplyKind : std::uint32_t {
  loaded,      ///< `capabilities`, `configurable`
  not_loaded,  ///< `code` is a LoadFailure, `text` the reason
  returned,    ///< `code`, `seconds`, `memory_exhausted`
  threw,       ///< a C++ exception; `text` says which, `memory_exhausted` if it was bad_alloc
  fault,       ///< the process is about to end by signal `code`
};

enum class LoadFailure : std::int32_t { not_loadable, no_entry_point, capabilities, abi_version };

enum class Access : std::int32_t { unknown, read, write };

struct Reply {
  ReplyKind kind;
  std::int32_t code;
  double seconds;
  bool memory_exhausted;  ///< the memory limit left next to nothing when the call ended
  bool configurable;
  bool has_address;  ///< fault: `address` is meaningful
  bool in_memory;    ///< fault: `address` is an offset into the shared memory
  std::uint64_t address;
  Access access;
  gqa_kernel_info capabilities;
  std::array<char, 512> text;
};

}  // namespace gqa::host_protocol
