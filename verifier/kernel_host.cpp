// The process that a kernel under audit runs in:
// gqaverify-kernel-host LIBRARY MEMORY_BYTES NUMBER [sandbox].
//
// Started by gqa::KernelHost, never by hand: it talks through the descriptors of
// gqa/kernel/host_protocol.hpp. Whatever the kernel does ends this process alone, with all that the
// kernel started: a second process, without the kernel's code, sees to that.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <new>
#include <string>
#include <vector>

#include "gqa/kernel/host_protocol.hpp"
#include "kernel_processes.hpp"
#include "kernel_sandbox.hpp"
#include "kernel_state.hpp"

using namespace gqa::host_protocol;

namespace {

// Read by the signal handler.
char* shared_memory = nullptr;
std::size_t shared_bytes = 0;
std::uint64_t current_number = 0;  // of the request that is being answered
std::atomic<bool> has_returned = false;

void send_reply(Reply& reply) {
  reply.number = current_number;
  send(control_descriptor, &reply, sizeof reply, MSG_NOSIGNAL);
}

void set_text(Reply& reply, const char* text) {
  std::strncpy(reply.text.data(), text, reply.text.size() - 1);
}

// Is the limit so near that hardly anything can be allocated any more?
bool memory_is_exhausted() {
  constexpr std::size_t probe = std::size_t{8} << 20;
  void* memory = mmap(nullptr, probe, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return true;
  munmap(memory, probe);
  return false;
}

Access access_of([[maybe_unused]] const void* context) {
#if defined(__x86_64__)
  // Bit 1 of the page-fault error code: the access was a write.
  const auto* machine = &static_cast<const ucontext_t*>(context)->uc_mcontext;
  return (machine->gregs[REG_ERR] & 2) != 0 ? Access::write : Access::read;
#else
  return Access::unknown;
#endif
}

// Says what happened, then lets the signal end the process as it would have.
void on_fatal_signal(int signal, siginfo_t* info, void* context) {
  static Reply reply;
  reply.kind = ReplyKind::fault;
  reply.code = signal;
  reply.memory_exhausted = memory_is_exhausted() ? 1 : 0;
  if ((signal == SIGSEGV || signal == SIGBUS) && info->si_code > 0) {
    const auto* address = static_cast<const char*>(info->si_addr);
    const bool in_memory = address >= shared_memory && address < shared_memory + shared_bytes;
    reply.has_address = 1;
    reply.in_memory = in_memory ? 1 : 0;
    reply.after_return = in_memory && has_returned ? 1 : 0;
    reply.address = in_memory ? static_cast<std::uint64_t>(address - shared_memory)
                              : reinterpret_cast<std::uint64_t>(address);
    reply.access = access_of(context);
  }
  send_reply(reply);
  raise(signal);
}

void install_signal_handlers() {
  static char stack[64 << 10];
  stack_t alternate{};
  alternate.ss_sp = stack;
  alternate.ss_size = sizeof stack;
  sigaltstack(&alternate, nullptr);
  struct sigaction action {};
  action.sa_sigaction = on_fatal_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    sigaction(signal, &action, nullptr);
  }
}

// Private memory in use now, in bytes: the sixth field of statm.
std::uint64_t private_memory() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t pages = 0;
  for (int field = 0; field < 6; ++field) statm >> pages;
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

void limit_resources(std::uint64_t memory_bytes) {
  const rlimit data{private_memory() + memory_bytes, private_memory() + memory_bytes};
  setrlimit(RLIMIT_DATA, &data);
  // Files are memory too where they have none of their own, the shared one first.
  const rlimit files{memory_bytes, memory_bytes};
  setrlimit(RLIMIT_FSIZE, &files);
}

struct Kernel {
  decltype(&gqa_kernel_run) run = nullptr;
  decltype(&gqa_kernel_configure) configure = nullptr;
};

template <class Function>
Function entry_point(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

bool refuse(Reply& reply, LoadFailure failure, const char* reason) {
  reply.kind = ReplyKind::not_loaded;
  reply.code = static_cast<std::int32_t>(failure);
  set_text(reply, reason != nullptr ? reason : "no reason given");
  return false;
}

bool load(const char* path, Kernel& kernel, Reply& reply) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return refuse(reply, LoadFailure::not_loadable, dlerror());
  const auto capabilities =
      entry_point<decltype(&gqa_kernel_capabilities)>(library, "gqa_kernel_capabilities");
  kernel.run = entry_point<decltype(&gqa_kernel_run)>(library, "gqa_kernel_run");
  kernel.configure = entry_point<decltype(&gqa_kernel_configure)>(library, "gqa_kernel_configure");
  if (capabilities == nullptr || kernel.run == nullptr) {
    return refuse(reply, LoadFailure::no_entry_point,
                  capabilities == nullptr ? "gqa_kernel_capabilities" : "gqa_kernel_run");
  }
  reply.capabilities.struct_size = sizeof reply.capabilities;
  const int code = capabilities(&reply.capabilities);
  if (code != GQA_KERNEL_OK) {
    return refuse(reply, LoadFailure::capabilities, std::to_string(code).c_str());
  }
  if (reply.capabilities.abi_version != GQA_KERNEL_ABI_VERSION) {
    return refuse(reply, LoadFailure::abi_version,
                  std::to_string(reply.capabilities.abi_version).c_str());
  }
  reply.kind = ReplyKind::loaded;
  reply.configurable = kernel.configure != nullptr ? 1 : 0;
  return true;
}

bool map_memory(const Request& request) {
  void* memory =
      mmap(nullptr, request.memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_descriptor, 0);
  if (memory == MAP_FAILED) return false;
  shared_memory = static_cast<char*>(memory);
  shared_bytes = request.memory_bytes;
  for (std::uint32_t i = 0; i < request.guard_count; ++i) {
    const Guard& guard = request.guards[i];
    if (mprotect(shared_memory + guard.offset, guard.bytes, PROT_NONE) != 0) return false;
  }
  return true;
}

// The tensors of a call that has returned may be read, not written: a thread that goes on writing
// is seen. They go when the next ones come.
void close_memory() {
  has_returned = true;
  mprotect(shared_memory, shared_bytes, PROT_READ);
}

// Threads that are there wait for work, or are still at it: the latter have this long to show.
void wait_for_late_threads() {
  std::ifstream status("/proc/self/stat");
  std::string field;
  constexpr int threads_field = 20;  // no name of ours has a space
  for (int i = 0; i < threads_field; ++i) status >> field;
  if (field == "1") return;
  constexpr timespec grace{0, 3'000'000};
  nanosleep(&grace, nullptr);
}

void unmap_memory() {
  if (shared_memory == nullptr) return;
  munmap(shared_memory, shared_bytes);
  shared_memory = nullptr;
  shared_bytes = 0;
}

// The request's problem with pointers into the mapped memory.
gqa_kernel_problem problem_of(Request& request) {
  gqa_kernel_problem problem = request.problem;
  const auto tensor = [&](TensorIndex i) -> const gqa_kernel_tensor* {
    if (!request.present[i]) return nullptr;
    request.tensors[i].data = shared_memory + request.offsets[i];
    return &request.tensors[i];
  };
  problem.query = tensor(TensorIndex::query);
  problem.key = tensor(TensorIndex::key);
  problem.value = tensor(TensorIndex::value);
  problem.past_key = tensor(TensorIndex::past_key);
  problem.past_value = tensor(TensorIndex::past_value);
  problem.attn_mask = tensor(TensorIndex::attn_mask);
  problem.nonpad_kv_seqlen = tensor(TensorIndex::nonpad_kv_seqlen);
  problem.sink = tensor(TensorIndex::sink);
  problem.alibi_slopes = tensor(TensorIndex::alibi_slopes);
  problem.cu_seqlens_q = tensor(TensorIndex::cu_seqlens_q);
  problem.cu_seqlens_k = tensor(TensorIndex::cu_seqlens_k);
  problem.output = tensor(TensorIndex::output);
  if (request.present[head_map_region]) {
    problem.head_map =
        reinterpret_cast<const std::int64_t*>(shared_memory + request.offsets[head_map_region]);
  }
  return problem;
}

template <class Call>
void call_kernel(Reply& reply, Call call) {
  using Clock = std::chrono::steady_clock;
  const gqa::kernel_host::ProcessState before;
  const std::vector<pid_t> helpers = gqa::kernel_host::children();  // that loading started
  has_returned = false;
  const auto start = Clock::now();
  try {
    reply.kind = ReplyKind::returned;
    reply.code = call();
    reply.memory_exhausted = reply.code > GQA_KERNEL_UNSUPPORTED && memory_is_exhausted() ? 1 : 0;
  } catch (const std::bad_alloc& error) {
    reply.kind = ReplyKind::threw;
    reply.memory_exhausted = 1;
    set_text(reply, error.what());
  } catch (const std::exception& error) {
    reply.kind = ReplyKind::threw;
    set_text(reply, error.what());
  } catch (...) {
    reply.kind = ReplyKind::threw;
    set_text(reply, "an exception of an unknown type");
  }
  reply.changes = before.changes();
  before.restore();  // before any arithmetic of ours, which might trap
  reply.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  install_signal_handlers();  // which are the kernel's to change, but for its call alone
  reply.left_processes = static_cast<std::uint32_t>(gqa::kernel_host::end_children(helpers));
}

void serve(const Kernel& kernel, Request& request) {
  Reply reply{};
  current_number = request.number;
  unmap_memory();
  if (request.operation == Operation::configure) {
    request.options.back() = '\0';
    call_kernel(reply, [&] { return kernel.configure(request.options.data()); });
  } else if (map_memory(request)) {
    const gqa_kernel_problem problem = problem_of(request);
    call_kernel(reply, [&] { return kernel.run(&problem); });
    close_memory();
    wait_for_late_threads();
  } else {
    reply.kind = ReplyKind::threw;
    set_text(reply, "the shared memory cannot be mapped");
  }
  send_reply(reply);
}

}  // namespace

int main(int argument_count, char** arguments) {
  const bool sandboxed = argument_count == 5 && std::strcmp(arguments[4], "sandbox") == 0;
  if ((argument_count != 4 && !sandboxed) || fcntl(control_descriptor, F_GETFD) < 0) return 64;
  close_range(memory_descriptor + 1, ~0U, 0);
  gqa::kernel_host::fork_supervised(control_descriptor);
  install_signal_handlers();
  current_number = std::strtoull(arguments[3], nullptr, 10);
  limit_resources(std::strtoull(arguments[2], nullptr, 10));
  Kernel kernel;
  Reply loaded{};
  const std::string no_sandbox = sandboxed ? gqa::kernel_host::enter_sandbox(arguments[1]) : "";
  // Not one instruction of the kernel outside of a sandbox that was asked for.
  const bool is_loaded = no_sandbox.empty()
                             ? load(arguments[1], kernel, loaded)
                             : refuse(loaded, LoadFailure::sandbox, no_sandbox.c_str());
  send_reply(loaded);
  if (!is_loaded) return EXIT_FAILURE;
  static Request request;
  while (recv(control_descriptor, &request, sizeof request, 0) ==
         static_cast<ssize_t>(sizeof request)) {
    serve(kernel, request);
  }
  return EXIT_SUCCESS;
}
