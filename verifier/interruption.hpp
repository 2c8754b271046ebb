// Ctrl-C, and the request to end that schedulers send.
#pragma once

#include <functional>
#include <string_view>
#include <thread>

namespace gqa::program {

/// While one lives, the first SIGINT or SIGTERM calls `on_signal` on a thread of its own, with the
/// signal's number; it should end the process. The second ends it as ever. One at a time.
class Interruption {
 public:
  explicit Interruption(std::function<void(int)> on_signal);
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

 private:
  std::thread thread_;
};

/// What the signal is, for a message: "interrupted by ..."
std::string_view interruption_name(int number);

}  // namespace gqa::program
