// What KernelHost and the program gqaverify-kernel-host say to each other.
//
// The two are built together, so that plain structs of one layout do; they are sent whole
// through a SOCK_SEQPACKET socket, and tensors lie in shared memory.
//
// The kernel shares the program's process, and so can write into its socket. Each message carries
// the number of the request that it answers, which nobody can guess, and what it holds is checked
// (is_valid): what a faulty kernel writes by accident is told as such. A kernel that reads the
// number out of its process's memory can still answer for itself.
#pragma once

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "gqa/kernel/abi.h"

namespace gqa::host_protocol {

/// Descriptors that the program finds open; its arguments are LIBRARY, MEMORY_BYTES and the number
/// that its first message carries.
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
  std::uint64_t number;
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

enum class LoadFailure : std::int32_t {
  not_loadable,
  no_entry_point,
  capabilities,
  abi_version,
  sandbox,
};

enum class Access : std::int32_t { unknown, read, write };

/// What a kernel left otherwise than it found it: bits of Reply::changes.
enum StateChange : std::uint32_t {
  rounding_mode = 1U << 0,
  flush_to_zero = 1U << 1,  ///< also denormals-are-zero
  exception_traps = 1U << 2,
  signal_mask = 1U << 3,
  environment = 1U << 4,
  working_directory = 1U << 5,
};
inline constexpr std::uint32_t all_state_changes = (1U << 6) - 1;

/// Bytes and integers alone, for which every pattern of bits is a value.
struct Reply {
  std::uint64_t number;  ///< of the request
  ReplyKind kind;
  std::int32_t code;
  double seconds;
  std::uint8_t memory_exhausted;  ///< the memory limit left next to nothing when the call ended
  std::uint8_t configurable;
  std::uint8_t has_address;      ///< fault: `address` is meaningful
  std::uint8_t in_memory;        ///< fault: `address` is an offset into the shared memory
  std::uint8_t after_return;     ///< fault: of a thread that the call left behind
  std::uint32_t changes;         ///< returned, threw: of StateChange
  std::uint32_t left_processes;  ///< returned, threw: children that were still there
  std::uint64_t address;
  Access access;
  gqa_kernel_info capabilities;
  std::array<char, 512> text;
};

inline bool is_fatal_signal(std::int32_t signal) {
  return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL ||
         signal == SIGABRT;
}

/// Whether a message can be what the program sends to request `number`.
inline bool is_valid(const Reply& reply, std::uint64_t number) {
  if (reply.number != number || reply.text.back() != '\0') return false;
  switch (reply.kind) {
    case ReplyKind::loaded:
      return true;
    case ReplyKind::not_loaded:
      return reply.code >= 0 && reply.code <= static_cast<int>(LoadFailure::sandbox);
    case ReplyKind::returned:
    case ReplyKind::threw:
      // NaN is neither.
      return reply.seconds >= 0 && reply.seconds < 1e9 && (reply.changes & ~all_state_changes) == 0;
    case ReplyKind::fault:
      return is_fatal_signal(reply.code) && reply.access >= Access::unknown &&
             reply.access <= Access::write;
  }
  return false;
}

}  // namespace gqa::host_protocol
