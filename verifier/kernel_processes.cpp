#include "kernel_processes.hpp"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

namespace gqa::kernel_host {
namespace {

void sleep_milliseconds(long milliseconds) {
  const timespec pause{0, milliseconds * 1'000'000};
  nanosleep(&pause, nullptr);
}

// What one child leaves behind becomes ours, to be ended in the next round.
void end_all_descendants() {
  constexpr int most_rounds = 1000;
  for (int round = 0; round < most_rounds && end_children() > 0; ++round) {
  }
}

[[noreturn]] void end_as(int status) {
  if (!WIFSIGNALED(status)) _exit(WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  ::signal(signal, SIG_DFL);
  raise(signal);
  _exit(EXIT_FAILURE);  // a signal that ends nothing
}

bool has_ended(pid_t worker, int& status) {
  const pid_t ended = waitpid(worker, &status, WNOHANG);
  return ended == worker || (ended < 0 && errno != EINTR);
}

[[noreturn]] void supervise(pid_t worker, int control) {
  const auto end_of_worker = static_cast<int>(syscall(SYS_pidfd_open, worker, 0));
  // Orphans send no signal to their new parent: they are looked for now and then.
  const int patience = end_of_worker >= 0 ? 100 : 5;
  std::array<pollfd, 2> watched{pollfd{end_of_worker, POLLIN, 0}, pollfd{control, POLLRDHUP, 0}};
  int status = 0;
  while (!has_ended(worker, status)) {
    if ((watched[1].revents & (POLLRDHUP | POLLHUP)) != 0) kill(worker, SIGKILL);
    poll(watched.data(), watched.size(), patience);
    if (watched[1].revents != 0) sleep_milliseconds(1);  // it is ready for ever
    end_children({worker});
  }
  end_all_descendants();
  end_as(status);
}

}  // namespace

std::vector<pid_t> children() {
  std::vector<pid_t> found;
  DIR* tasks = opendir("/proc/self/task");
  if (tasks == nullptr) return found;
  while (const dirent* task = readdir(tasks)) {
    if (task->d_name[0] == '.') continue;
    std::ifstream list("/proc/self/task/" + std::string(task->d_name) + "/children");
    for (pid_t child = 0; list >> child;) found.push_back(child);
  }
  closedir(tasks);
  return found;
}

std::size_t end_children(const std::vector<pid_t>& kept) {
  std::size_t count = 0;
  for (const pid_t child : children()) {
    if (std::ranges::find(kept, child) != kept.end()) continue;
    ++count;
    kill(child, SIGKILL);
    // One that the system keeps from ending is not waited for without end.
    for (int tries = 0; tries < 100 && waitpid(child, nullptr, WNOHANG | __WALL) == 0; ++tries) {
      sleep_milliseconds(1);
    }
  }
  return count;
}

void fork_supervised(int control) {
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t supervisor = getpid();
  const pid_t worker = fork();
  if (worker > 0) supervise(worker, control);
  if (worker < 0) _exit(EXIT_FAILURE);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != supervisor) _exit(EXIT_FAILURE);  // it ended before it could be watched
}

}  // namespace gqa::kernel_host
