// One problem laid out for a kernel's process, and what the kernel did to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "gqa/kernel/host_protocol.hpp"
#include "gqa/kernel/kernel_run.hpp"

namespace gqa {

/// Where one tensor lies in the shared memory: [begin, end) holds slack bytes around and between
/// its rows; beyond lie guard pages. Offsets from the start of the memory, all in bytes.
struct KernelRegion {
  std::string_view name;
  std::shared_ptr<const TypedTensor> tensor;  ///< for the output: what it is filled with
  std::uint64_t begin = 0;
  std::uint64_t data = 0;
  std::uint64_t end = 0;
  std::uint64_t rows = 0;
  std::uint64_t row_bytes = 0;
  std::uint64_t row_stride = 0;
};

/// The bits that an unwritten output element keeps: a signalling NaN where the format has one.
std::uint64_t unwritten_pattern(ElementType type);

class KernelCall {
 public:
  /// Errors: those of KernelHost::run.
  KernelCall(const ProblemTensors& tensors, const Contract& contract, ElementType output_type,
             const KernelCallOptions& options);

  const host_protocol::Request& request() const { return request_; }
  std::uint64_t memory_bytes() const { return request_.memory_bytes; }

  /// Writes tensors, slack and gaps. `memory`: at least memory_bytes().
  void fill(std::byte* memory) const;
  /// Outside writes and changed inputs; unwritten elements and the output if it finished.
  void inspect(const std::byte* memory, KernelRun& run) const;
  /// The tensor nearest to an offset into the memory.
  MemoryFault locate(std::uint64_t offset, MemoryAccess access) const;

 private:
  void set_sizes(const Dimensions& d, const Contract& contract);
  void add(std::size_t index, std::shared_ptr<const TypedTensor> tensor, std::uint64_t row_width,
           std::int64_t row_stride_factor);
  void add_operand(std::size_t index, const std::shared_ptr<const TypedTensor>& tensor,
                   Layout layout, std::int64_t heads, std::int64_t row_stride_factor);
  void add_plain(std::size_t index, const std::shared_ptr<const TypedTensor>& tensor);
  void add_guard();

  host_protocol::Request request_{};
  std::vector<KernelRegion> regions_;  ///< the output first
};

/// The first byte of a region that changed outside the rows, relative to `data`; nullopt if none.
std::optional<std::int64_t> first_changed_slack(const KernelRegion& region,
                                                const std::byte* memory);

}  // namespace gqa
