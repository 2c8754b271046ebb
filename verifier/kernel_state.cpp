#include "kernel_state.hpp"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <array>
#include <climits>

#include "gqa/kernel/host_protocol.hpp"

namespace gqa::kernel_host {
namespace {

// Bits of the register that floating-point instructions obey, by what they change.
#if defined(__x86_64__)
constexpr std::uint64_t rounding_bits = 0x6000;
constexpr std::uint64_t flushing_bits = 0x8040;  // FTZ, DAZ
constexpr std::uint64_t trap_bits = 0x1f80;
std::uint64_t control_register() {
  return _mm_getcsr();
}
#elif defined(__aarch64__)
constexpr std::uint64_t rounding_bits = 0xc00000;
constexpr std::uint64_t flushing_bits = 0x1080000;  // FZ, FZ16
constexpr std::uint64_t trap_bits = 0x9f00;
std::uint64_t control_register() {
  std::uint64_t value = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(value));
  return value;
}
#else
constexpr std::uint64_t rounding_bits = ~std::uint64_t{0};
constexpr std::uint64_t flushing_bits = 0;
constexpr std::uint64_t trap_bits = 0;
std::uint64_t control_register() {
  return static_cast<std::uint64_t>(std::fegetround());
}
#endif

std::vector<std::string> current_environment() {
  std::vector<std::string> all;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    all.emplace_back(*entry);
  }
  return all;
}

std::string current_directory() {
  std::array<char, PATH_MAX> path{};
  return getcwd(path.data(), path.size()) != nullptr ? path.data() : "";
}

bool are_same(const sigset_t& a, const sigset_t& b) {
  for (int signal = 1; signal < NSIG; ++signal) {
    if (sigismember(&a, signal) != sigismember(&b, signal)) return false;
  }
  return true;
}

sigset_t blocked_signals() {
  sigset_t signals;
  pthread_sigmask(SIG_SETMASK, nullptr, &signals);
  return signals;
}

}  // namespace

ProcessState::ProcessState()
    : control_(control_register()),
      signals_(blocked_signals()),
      environment_(current_environment()),
      directory_(current_directory()) {
  std::fegetenv(&floating_point_);
}

std::uint32_t ProcessState::changes() const {
  using namespace host_protocol;
  const std::uint64_t changed = control_ ^ control_register();
  std::uint32_t found = 0;
  if ((changed & rounding_bits) != 0) found |= rounding_mode;
  if ((changed & flushing_bits) != 0) found |= flush_to_zero;
  if ((changed & trap_bits) != 0) found |= exception_traps;
  if (!are_same(signals_, blocked_signals())) found |= signal_mask;
  if (environment_ != current_environment()) found |= StateChange::environment;
  if (directory_ != current_directory()) found |= working_directory;
  return found;
}

void ProcessState::restore() const {
  std::fesetenv(&floating_point_);
  pthread_sigmask(SIG_SETMASK, &signals_, nullptr);
  if (environment_ != current_environment()) {
    clearenv();
    for (const std::string& entry : environment_) {
      const std::size_t end = entry.find('=');
      if (end != entry.npos) setenv(entry.substr(0, end).c_str(), entry.c_str() + end + 1, 1);
    }
  }
  [[maybe_unused]] const int failure = directory_.empty() ? 0 : chdir(directory_.c_str());
}

}  // namespace gqa::kernel_host
