#include "gqa/kernel/kernel_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

namespace gqa {
namespace {

std::string place(const std::string& tensor, std::int64_t offset) {
  return offset < 0 ? fmt::format("{} bytes before {}", -offset, tensor)
                    : fmt::format("at byte {} from the start of {}", offset, tensor);
}

std::string_view verb(MemoryAccess access) {
  switch (access) {
    case MemoryAccess::read:
      return "reading";
    case MemoryAccess::write:
      return "writing";
    case MemoryAccess::unknown:
      break;
  }
  return "touching memory";
}

std::string_view sentence(KernelFinding finding) {
  switch (finding) {
    case KernelFinding::rounding_mode:
      return "returned with another rounding mode";
    case KernelFinding::flush_to_zero:
      return "returned with subnormal numbers flushed to zero";
    case KernelFinding::exception_traps:
      return "returned with other floating-point exceptions unmasked";
    case KernelFinding::signal_mask:
      return "returned with other signals blocked";
    case KernelFinding::environment:
      return "changed the environment of its process";
    case KernelFinding::working_directory:
      return "changed the working directory of its process";
    case KernelFinding::left_processes:
      return "left processes running that it had started";
    case KernelFinding::late_access:
      return "a thread of the kernel touched the tensors after the call had returned";
    case KernelFinding::late_end:
      return "the process ended after the call before had returned";
    case KernelFinding::foreign_message:
      return "wrote into a descriptor that is not its own";
  }
  return "?";
}

std::string describe_status(const KernelRun& run) {
  switch (run.status) {
    case KernelStatus::finished:
      return "finished";
    case KernelStatus::unsupported:
      return "does not support the problem";
    case KernelStatus::failed:
      return run.reason.empty() ? fmt::format("failed with error {}", run.code)
                                : fmt::format("failed: {}", run.reason);
    case KernelStatus::exited:
      return fmt::format("ended its process with exit status {}", run.code);
    case KernelStatus::crashed:
      return fmt::format("crashed with signal {} ({})", run.code, strsignal(run.code));
    case KernelStatus::timed_out:
      return fmt::format("did not return and was ended after {:.1f} s", run.seconds);
    case KernelStatus::out_of_memory:
      return "ran out of the memory that it may take";
  }
  return "?";
}

}  // namespace

std::string_view name(KernelStatus status) {
  switch (status) {
    case KernelStatus::finished:
      return "finished";
    case KernelStatus::unsupported:
      return "unsupported";
    case KernelStatus::failed:
      return "failed";
    case KernelStatus::exited:
      return "exited";
    case KernelStatus::crashed:
      return "crashed";
    case KernelStatus::timed_out:
      return "timed_out";
    case KernelStatus::out_of_memory:
      return "out_of_memory";
  }
  return "?";
}

std::string_view name(KernelFinding finding) {
  switch (finding) {
    case KernelFinding::rounding_mode:
      return "rounding_mode";
    case KernelFinding::flush_to_zero:
      return "flush_to_zero";
    case KernelFinding::exception_traps:
      return "exception_traps";
    case KernelFinding::signal_mask:
      return "signal_mask";
    case KernelFinding::environment:
      return "environment";
    case KernelFinding::working_directory:
      return "working_directory";
    case KernelFinding::left_processes:
      return "left_processes";
    case KernelFinding::late_access:
      return "late_access";
    case KernelFinding::late_end:
      return "late_end";
    case KernelFinding::foreign_message:
      return "foreign_message";
  }
  return "?";
}

bool KernelCapabilities::supports(ElementType type) const {
  return std::ranges::find(element_types, type) != element_types.end();
}

bool KernelCapabilities::supports(Layout layout) const {
  return std::ranges::find(layouts, layout) != layouts.end();
}

std::string describe(const KernelRun& run) {
  std::vector<std::string> parts{describe_status(run)};
  if (run.fault) {
    parts.back() +=
        fmt::format(", {} {}", verb(run.fault->access),
                    run.fault->tensor.empty() ? fmt::format("at address {:#x}", run.fault->address)
                                              : place(run.fault->tensor, run.fault->offset));
  }
  for (const OutsideWrite& write : run.outside_writes) {
    parts.push_back("wrote outside " + write.tensor + ", " + place(write.tensor, write.offset));
  }
  for (const ChangedInput& change : run.changed_inputs) {
    parts.push_back(
        fmt::format("changed its input {} from byte {} on", change.name, change.first_byte));
  }
  for (const KernelFinding finding : run.findings) {
    parts.push_back(fmt::format("{} [{}]", sentence(finding), name(finding)));
  }
  if (run.left_output_unwritten()) {
    parts.push_back(fmt::format("left {} output elements unwritten, the first of them {}",
                                run.unwritten_elements, run.first_unwritten));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace gqa
