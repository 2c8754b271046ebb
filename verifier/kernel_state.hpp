// What a call must leave as it found it: the state of its thread and of its process.
#pragma once

#include <fenv.h>
#include <signal.h>

#include <cstdint>
#include <string>
#include <vector>

namespace gqa::kernel_host {

/// The floating-point environment and the signal mask of the calling thread, the environment and
/// the working directory of the process.
class ProcessState {
 public:
  /// As it is now.
  ProcessState();
  /// What is otherwise now: bits of host_protocol::StateChange.
  std::uint32_t changes() const;
  /// Puts everything back.
  void restore() const;

 private:
  std::fenv_t floating_point_{};
  std::uint64_t control_ = 0;  // the register with rounding, flushing and traps
  sigset_t signals_{};
  std::vector<std::string> environment_;
  std::string directory_;
};

}  // namespace gqa::kernel_host
