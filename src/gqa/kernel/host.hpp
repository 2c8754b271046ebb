// Runs the kernel of a shared object in a process of its own.
//
// Whatever the kernel does is told in a KernelRun: a crash, a hang, a write outside the output,
// a changed input are findings about it, and the next call works again. This protects against
// faults, not against malice: the process runs with the caller's rights.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "gqa/attention/attention_problem.hpp"
#include "gqa/kernel/kernel_run.hpp"

namespace gqa {

/// Where gqaverify-kernel-host is: beside the running program, in its ../libexec/gqaverify, or
/// where it was to be installed.
/// Errors: InputError "kernel.host_not_found" at the first place looked at.
std::filesystem::path find_kernel_host();

/// A loaded kernel. Not for several threads at once; start one per thread.
class KernelHost {
 public:
  /// Starts `program` (empty: find_kernel_host()), which loads `library`.
  ///
  /// Errors: InputError "kernel.host_not_found" at the program; at the library:
  /// "kernel.not_loadable", "kernel.no_entry_point", "kernel.capabilities" (it returned an
  /// error), "kernel.abi_version", "kernel.load_failed" (the process ended or hung while loading).
  explicit KernelHost(const std::filesystem::path& library, const KernelLimits& limits = {},
                      const std::filesystem::path& program = {});
  ~KernelHost();
  KernelHost(KernelHost&&) noexcept;
  KernelHost& operator=(KernelHost&&) noexcept;

  const KernelCapabilities& capabilities() const;

  /// Sets the kernel's own options, also for the processes that follow after a crash.
  /// Errors: InputError at "options": "kernel.not_configurable", "kernel.options_too_long",
  /// "kernel.options_refused" (an error, or the end of the process: the options before stand).
  void configure(const std::string& options);

  /// Calls the kernel. `tensors.output` is not read; the output has `output_type`.
  ///
  /// Errors: InputError of make_problem or cut_documents: a problem that is wrong in itself is
  /// not put before a kernel; "kernel.stride_factor" below 1; "kernel.load_failed" and the like
  /// if the kernel cannot be loaded again after a crash.
  KernelRun run(const ProblemTensors& tensors, const Contract& contract, ElementType output_type,
                const KernelCallOptions& options = {});

 private:
  class Session;
  std::unique_ptr<Session> session_;
};

}  // namespace gqa
