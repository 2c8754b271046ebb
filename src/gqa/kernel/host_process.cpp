#include "gqa/kernel/host_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <random>
#include <string>
#include <system_error>
#include <thread>

#include "gqa/error.hpp"

namespace gqa {
namespace {

using host_protocol::Reply;
using host_protocol::Request;

// posix_spawn's two settings, released in any case.
class SpawnSettings {
 public:
  SpawnSettings() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
};

// What a kernel prints would go between the lines of a report.
void silence(SpawnSettings& settings) {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    posix_spawn_file_actions_addopen(&settings.actions, stream, "/dev/null", O_RDWR, 0);
  }
}

// Its own group, so that what it starts ends with it; all signals as at a login.
void set_group_and_signals(SpawnSettings& settings) {
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setpgroup(&settings.attributes, 0);
  posix_spawnattr_setsigmask(&settings.attributes, &none);
  posix_spawnattr_setsigdefault(&settings.attributes, &all);
  posix_spawnattr_setflags(&settings.attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

std::array<int, 2> control_pair() {
  std::array<int, 2> low{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, low.data()) != 0) {
    throw InputError("kernel.no_descriptors", "", std::generic_category().message(errno));
  }
  // Above the numbers that the child moves them to.
  const std::array<int, 2> high{fcntl(low[0], F_DUPFD_CLOEXEC, 10),
                                fcntl(low[1], F_DUPFD_CLOEXEC, 10)};
  for (const int end : low) close(end);
  if (high[0] >= 0 && high[1] >= 0) return high;
  for (const int end : high) {
    if (end >= 0) close(end);
  }
  throw InputError("kernel.no_descriptors", "", "too many files are open");
}

// Not to be met by chance: what an earlier process left in no socket of ours.
std::uint64_t first_number() {
  std::random_device random;
  return std::uint64_t{random()} << 32 | random();
}

// Linux 5.3; without it the end is noticed by the socket alone.
int watch_of([[maybe_unused]] pid_t process) {
#ifdef SYS_pidfd_open
  return static_cast<int>(syscall(SYS_pidfd_open, process, 0));
#else
  return -1;
#endif
}

int milliseconds_until(KernelDeadline deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1'000'000'000));
}

}  // namespace

KernelDeadline deadline_in(double seconds) {
  // A limit of centuries must not overflow the clock; NaN is no time at all.
  const std::chrono::duration<double> wait(seconds > 0 ? std::min(seconds, 1e9) : 0.0);
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::steady_clock::duration>(wait);
}

HostProcess::HostProcess(const std::filesystem::path& program, const std::filesystem::path& library,
                         int memory, const KernelLimits& limits) {
  const auto [ours, theirs] = control_pair();
  control_ = ours;
  SpawnSettings settings;
  silence(settings);
  set_group_and_signals(settings);
  posix_spawn_file_actions_adddup2(&settings.actions, theirs, host_protocol::control_descriptor);
  posix_spawn_file_actions_adddup2(&settings.actions, memory, host_protocol::memory_descriptor);
  number_ = first_number();
  std::string arguments[] = {program.string(), library.string(),
                             std::to_string(limits.memory_bytes), std::to_string(number_)};
  std::string sandbox = "sandbox";
  char* argv[] = {arguments[0].data(),
                  arguments[1].data(),
                  arguments[2].data(),
                  arguments[3].data(),
                  limits.sandbox ? sandbox.data() : nullptr,
                  nullptr};
  const int error = posix_spawn(&process_, program.c_str(), &settings.actions, &settings.attributes,
                                argv, environ);
  close(theirs);
  if (error == 0) {
    end_ = watch_of(process_);
    return;
  }
  close(control_);
  throw InputError("kernel.host_not_found", program.string(),
                   "cannot be started: " + std::generic_category().message(error));
}

HostProcess::~HostProcess() {
  kill();
  if (end_ >= 0) close(end_);
  close(control_);
}

bool HostProcess::send(Request request) {
  request.number = ++number_;
  return ::send(control_, &request, sizeof request, MSG_NOSIGNAL) ==
         static_cast<ssize_t>(sizeof request);
}

HostProcess::Received HostProcess::receive(Reply& reply, KernelDeadline deadline) {
  // A descriptor of -1 is not looked at.
  std::array<pollfd, 2> watched{pollfd{control_, POLLIN, 0}, pollfd{end_, POLLIN, 0}};
  int ready = 0;
  do {
    ready = poll(watched.data(), watched.size(), milliseconds_until(deadline));
  } while (ready < 0 && errno == EINTR);
  if (ready == 0) return Received::late;
  // What was said before the end comes first.
  const ssize_t bytes = recv(control_, &reply, sizeof reply, MSG_DONTWAIT | MSG_TRUNC);
  if (bytes <= 0) return Received::ended;
  const bool is_reply =
      bytes == static_cast<ssize_t>(sizeof reply) && host_protocol::is_valid(reply, number_);
  return is_reply ? Received::reply : Received::foreign;
}

std::optional<int> HostProcess::wait(KernelDeadline deadline) {
  if (process_ < 0) return std::nullopt;
  while (true) {
    int status = 0;
    const pid_t ended = waitpid(process_, &status, WNOHANG);
    if (ended == process_ || (ended < 0 && errno != EINTR)) {
      ::kill(-process_, SIGKILL);  // what it may have started
      process_ = -1;
      return status;
    }
    if (std::chrono::steady_clock::now() >= deadline) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

void HostProcess::kill() {
  if (process_ < 0) return;
  // Told by the end of the conversation, it first ends what the kernel started, wherever that went;
  // a second is ample, and a process that was stopped does not listen.
  shutdown(control_, SHUT_RDWR);
  if (wait(deadline_in(1))) return;
  ::kill(-process_, SIGKILL);
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
}

}  // namespace gqa
