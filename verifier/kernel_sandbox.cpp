#include "kernel_sandbox.hpp"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace gqa::kernel_host {
namespace {

// The structures of Landlock as of ABI 6, which the headers of an older system have not.
struct RulesetAttributes {
  std::uint64_t handled_access_fs;
  std::uint64_t handled_access_net;  // ABI 4
  std::uint64_t scoped;              // ABI 6
};
struct [[gnu::packed]] PathBeneath {
  std::uint64_t allowed_access;
  std::int32_t parent_fd;
};
constexpr long create_ruleset = 444;  // the same numbers on every architecture
constexpr long add_rule = 445;
constexpr long restrict_self = 446;
constexpr std::uint64_t execute = 1U << 0, read_file = 1U << 2, read_dir = 1U << 3;
constexpr std::uint64_t all_of_abi_1 = (1U << 13) - 1;
constexpr std::uint64_t refer = 1U << 13, truncate_file = 1U << 14, ioctl_device = 1U << 15;
constexpr std::uint64_t bind_and_connect = 3;
constexpr std::uint64_t abstract_sockets_and_signals = 3;
constexpr int abi_of_signals = 6;

std::string because(const char* what) {
  return std::string(what) + ": " + std::strerror(errno);
}

int landlock_abi() {
  constexpr unsigned version_flag = 1;
  return static_cast<int>(syscall(create_ruleset, nullptr, 0, version_flag));
}

// What this ABI has, and how much of the structure it knows.
std::pair<RulesetAttributes, std::size_t> attributes_of(int abi) {
  RulesetAttributes attributes{all_of_abi_1, 0, 0};
  if (abi >= 2) attributes.handled_access_fs |= refer;
  if (abi >= 3) attributes.handled_access_fs |= truncate_file;
  if (abi >= 5) attributes.handled_access_fs |= ioctl_device;
  if (abi >= 4) attributes.handled_access_net = bind_and_connect;
  if (abi >= abi_of_signals) attributes.scoped = abstract_sockets_and_signals;
  const std::size_t size = abi >= abi_of_signals ? 24 : abi >= 4 ? 16 : 8;
  return {attributes, size};
}

// A path that is not there needs no rule.
bool allow(int ruleset, const char* path, std::uint64_t access) {
  const int place = open(path, O_PATH | O_CLOEXEC);
  if (place < 0) return errno == ENOENT || errno == ENOTDIR;
  const PathBeneath beneath{access, place};
  constexpr unsigned path_beneath = 1;
  const long result = syscall(add_rule, ruleset, path_beneath, &beneath, 0);
  close(place);
  return result == 0;
}

std::string restrict_files(const char* library, int abi) {
  const auto [attributes, size] = attributes_of(abi);
  const auto ruleset = static_cast<int>(syscall(create_ruleset, &attributes, size, 0));
  if (ruleset < 0) return because("no Landlock ruleset can be made");
  constexpr std::array folders{"/lib",       "/lib32",     "/lib64",        "/usr/lib",
                               "/usr/lib32", "/usr/lib64", "/usr/local/lib"};
  bool allowed = allow(ruleset, library, read_file | execute) &&
                 allow(ruleset, "/etc/ld.so.cache", read_file) &&
                 allow(ruleset, "/proc/self", read_file | read_dir);
  for (const char* folder : folders) {
    allowed = allowed && allow(ruleset, folder, read_file | read_dir | execute);
  }
  std::string error;
  if (!allowed) {
    error = because("a Landlock rule is refused");
  } else if (syscall(restrict_self, ruleset, 0) != 0) {
    error = because("Landlock cannot restrict this process");
  }
  close(ruleset);
  return error;
}

#if defined(__x86_64__)
constexpr std::uint32_t own_architecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t own_architecture = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t own_architecture = 0;
#endif

sock_filter load(std::size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
}
sock_filter answer(std::uint32_t action) {
  return BPF_STMT(BPF_RET | BPF_K, action);
}
constexpr std::uint32_t refused = SECCOMP_RET_ERRNO | EPERM;

// Refused, whatever its arguments.
void refuse(std::vector<sock_filter>& filter, long number) {
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(number), 0, 1));
  filter.push_back(answer(refused));
}

// Refused unless its first argument is this process; the call's number is loaded again behind it.
void refuse_for_others(std::vector<sock_filter>& filter, long number) {
  const auto own = static_cast<std::uint32_t>(getpid());
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(number), 0, 4));
  filter.push_back(load(offsetof(seccomp_data, args)));  // both architectures are little-endian
  filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, own, 1, 0));
  filter.push_back(answer(refused));
  filter.push_back(answer(SECCOMP_RET_ALLOW));
}

std::string restrict_calls(int abi) {
  if (own_architecture == 0) return "there is no seccomp filter for this architecture";
  std::vector<sock_filter> filter {
    load(offsetof(seccomp_data, arch)), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, own_architecture, 1, 0),
        answer(refused), load(offsetof(seccomp_data, nr)),
#if defined(__x86_64__)
        // The x32 numbers of the same calls.
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1), answer(refused),
#endif
  };
  for (const long number :
       {SYS_socket, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_pidfd_send_signal,
        SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_io_uring_setup, SYS_bpf, SYS_keyctl,
        SYS_add_key, SYS_unshare, SYS_mount, SYS_open_by_handle_at}) {
    refuse(filter, number);
  }
  if (abi < abi_of_signals) {
    for (const long number : {SYS_kill, SYS_tgkill, SYS_tkill}) refuse_for_others(filter, number);
  }
  filter.push_back(answer(SECCOMP_RET_ALLOW));
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    return because("no seccomp filter can be set");
  }
  return "";
}

}  // namespace

std::string enter_sandbox(const char* library) {
  const int abi = landlock_abi();
  if (abi < 1) return because("the system has no Landlock");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return because("privileges cannot be given up");
  if (std::string error = restrict_files(library, abi); !error.empty()) return error;
  return restrict_calls(abi);
}

}  // namespace gqa::kernel_host
