#include "interruption.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

namespace gqa::program {
namespace {

constexpr std::array signals{SIGINT, SIGTERM};

// The ends of a pipe: a handler may do nothing but write to it.
std::array<int, 2> pipe_ends{-1, -1};

void send(unsigned char number) {
  const int before = errno;
  [[maybe_unused]] const ssize_t written = ::write(pipe_ends[1], &number, 1);
  errno = before;
}

extern "C" void on_signal_received(int number) {
  send(static_cast<unsigned char>(number));
}

// The first byte that comes; 0: the end was asked for.
int wait_for_signal() {
  unsigned char number = 0;
  ssize_t count = 0;
  do {
    count = ::read(pipe_ends[0], &number, 1);
  } while (count < 0 && errno == EINTR);
  return count == 1 ? number : 0;
}

}  // namespace

std::string_view interruption_name(int number) {
  return number == SIGINT ? "Ctrl-C" : "a request to end";
}

Interruption::Interruption(std::function<void(int)> on_signal) {
  if (pipe2(pipe_ends.data(), O_CLOEXEC) != 0) return;  // Ctrl-C ends the process at once
  thread_ = std::thread([work = std::move(on_signal)] {
    if (const int number = wait_for_signal(); number != 0) work(number);
  });
  struct sigaction action {};
  action.sa_handler = on_signal_received;
  // A second one ends the process: SA_RESETHAND brings the default back.
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  for (const int number : signals) {
    struct sigaction now {};
    // Whoever started this process may have it ignore them (nohup).
    if (sigaction(number, nullptr, &now) == 0 && now.sa_handler == SIG_IGN) continue;
    sigaction(number, &action, nullptr);
  }
}

Interruption::~Interruption() {
  if (!thread_.joinable()) return;
  for (const int number : signals) {
    struct sigaction now {};
    if (sigaction(number, nullptr, &now) == 0 && now.sa_handler == on_signal_received) {
      std::signal(number, SIG_DFL);
    }
  }
  send(0);
  thread_.join();
  for (int& end : pipe_ends) {
    ::close(end);
    end = -1;
  }
}

}  // namespace gqa::program
