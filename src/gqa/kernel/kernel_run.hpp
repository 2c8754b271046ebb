// What a kernel can do, is asked and did.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gqa/attention/attention_problem.hpp"
#include "gqa/kernel/abi.h"

namespace gqa {

struct KernelLimits {
  double seconds = 10;                                  ///< wall time of one call, and of loading
  std::uint64_t memory_bytes = std::uint64_t{2} << 30;  ///< private memory, tensors not counted
  /// No file but the library and the system's libraries, no socket, no other process: see
  /// verifier/kernel_sandbox.hpp. A system that cannot do that refuses to run the kernel.
  bool sandbox = false;
};

/// What the kernel says of itself.
struct KernelCapabilities {
  std::string name;
  std::uint64_t features = 0;  ///< of gqa_kernel_feature
  std::vector<ElementType> element_types;
  std::vector<Layout> layouts;
  std::int64_t max_queries = 0;  ///< 0: no limit; so all of these
  std::int64_t max_keys = 0;
  std::int64_t max_key_size = 0;
  std::int64_t max_value_size = 0;
  bool configurable = false;  ///< has gqa_kernel_configure

  bool has(gqa_kernel_feature feature) const {
    return (features & static_cast<std::uint64_t>(feature)) != 0;
  }
  bool supports(ElementType type) const;
  bool supports(Layout layout) const;
};

/// How far apart the rows (last axis in memory) of a tensor are put, as a multiple of their
/// width. The gaps hold NaN, which nobody may read, and in the output nobody may write.
struct KernelCallOptions {
  std::int64_t query_row_stride_factor = 1;
  std::int64_t key_row_stride_factor = 1;
  std::int64_t value_row_stride_factor = 1;
  std::int64_t output_row_stride_factor = 1;
};

enum class KernelStatus {
  finished,       ///< returned GQA_KERNEL_OK
  unsupported,    ///< returned GQA_KERNEL_UNSUPPORTED
  failed,         ///< returned another number, `code`, or threw an exception, `reason`
  exited,         ///< ended its process with exit status `code`
  crashed,        ///< ended by signal `code`
  timed_out,      ///< ended by us after KernelLimits::seconds
  out_of_memory,  ///< failed, threw or crashed with KernelLimits::memory_bytes used up
};
/// "finished", "out_of_memory", ...
std::string_view name(KernelStatus status);

enum class MemoryAccess { unknown, read, write };

/// The access that a SIGSEGV or SIGBUS was for. Every tensor ends (but for less than 64 bytes,
/// or a page for the output) at memory that nobody may touch.
struct MemoryFault {
  MemoryAccess access = MemoryAccess::unknown;
  std::string tensor;         ///< the nearest tensor, or empty: nowhere near one
  std::int64_t offset = 0;    ///< bytes from the tensor's first one; negative: before it
  std::uint64_t address = 0;  ///< if `tensor` is empty
};

/// The first byte that changed outside the elements of a tensor: before, behind or in gaps.
struct OutsideWrite {
  std::string tensor;
  std::int64_t offset = 0;  ///< bytes from the tensor's first one; negative: before it
};

struct ChangedInput {
  std::string name;
  std::int64_t first_byte = 0;  ///< into the row-major tensor
  std::uint64_t digest_before = 0;
  std::uint64_t digest_after = 0;
};

/// What a kernel did to its process beside computing: each is a fault that other code would suffer
/// from. The process is put back before the next call.
enum class KernelFinding {
  rounding_mode,      ///< returned with another rounding mode
  flush_to_zero,      ///< returned with subnormal numbers flushed to zero
  exception_traps,    ///< returned with other floating-point exceptions unmasked
  signal_mask,        ///< returned with other signals blocked
  environment,        ///< returned with another environment
  working_directory,  ///< returned in another directory
  left_processes,     ///< returned with processes that it started still running
  late_access,        ///< a thread touched the tensors after the call had returned
  late_end,           ///< the process ended after the call had returned, before the next
  foreign_message,    ///< wrote into a descriptor that is not its own
};
/// "rounding_mode", ...
std::string_view name(KernelFinding finding);

/// What came of one call.
struct KernelRun {
  KernelStatus status = KernelStatus::failed;
  int code = 0;                      ///< as the status says
  std::string reason;                ///< for people, where a number does not say it
  std::optional<MemoryFault> fault;  ///< crashed
  /// One per tensor, the output first. Changed slack bytes, or a write that a guard page caught.
  std::vector<OutsideWrite> outside_writes;
  std::vector<ChangedInput> changed_inputs;
  std::vector<KernelFinding> findings;
  /// Output elements that still hold the signalling NaN that they were filled with (float8_e4m3fn:
  /// its negative NaN), and the row-major index of the first. Counted if finished.
  std::int64_t unwritten_elements = 0;
  std::int64_t first_unwritten = -1;
  /// In the declared layout, dense; null unless finished.
  std::shared_ptr<const TypedTensor> output;
  double seconds = 0;  ///< inside the kernel; until it ended or was ended, if it did not return

  bool wrote_outside_output() const { return !outside_writes.empty(); }
  bool left_output_unwritten() const { return unwritten_elements > 0; }
  /// Finished, and nothing but the output changed, all of it.
  bool is_clean() const {
    return status == KernelStatus::finished && !wrote_outside_output() && changed_inputs.empty() &&
           findings.empty() && !left_output_unwritten();
  }
};

/// One sentence per finding: "crashed with signal 11 (Segmentation fault): wrote 4096 bytes after
/// the start of output". "finished" alone if the run is clean.
std::string describe(const KernelRun& run);

}  // namespace gqa
