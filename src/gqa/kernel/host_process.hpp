// The process of one kernel: started, spoken to, ended.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "gqa/kernel/host_protocol.hpp"
#include "gqa/kernel/kernel_run.hpp"

namespace gqa {

using KernelDeadline = std::chrono::steady_clock::time_point;

/// The moment `seconds` from now.
KernelDeadline deadline_in(double seconds);

/// gqaverify-kernel-host with its own process group; ended with this object at the latest, with all
/// that the kernel started.
class HostProcess {
 public:
  /// `memory` is the descriptor of the shared memory.
  /// Errors: InputError "kernel.host_not_found" at the program if it cannot be started.
  HostProcess(const std::filesystem::path& program, const std::filesystem::path& library,
              int memory, const KernelLimits& limits);
  ~HostProcess();
  HostProcess(const HostProcess&) = delete;
  HostProcess& operator=(const HostProcess&) = delete;

  /// Gives the request its number and sends it. False if the process has ended.
  bool send(host_protocol::Request request);

  /// A valid answer to the request sent last (or to the start); `foreign`: a message that is none.
  /// `ended`: the process is gone, whoever still holds its end of the socket.
  enum class Received { reply, foreign, ended, late };
  Received receive(host_protocol::Reply& reply, KernelDeadline deadline);

  /// The status of waitpid once the process has ended; nullopt if it has not by the deadline.
  std::optional<int> wait(KernelDeadline deadline);
  /// Ends it and all that it started.
  void kill();

 private:
  pid_t process_ = -1;
  int control_ = -1;
  int end_ = -1;  ///< readable once the process has ended, or -1 where the system has no such thing
  std::uint64_t number_ = 0;
};

}  // namespace gqa
