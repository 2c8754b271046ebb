#include "gqa/kernel/host.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "gqa/error.hpp"
#include "gqa/kernel/host_process.hpp"
#include "gqa/kernel/kernel_call.hpp"
#include "gqa/kernel/shared_memory.hpp"
#include "gqa/printable.hpp"

namespace gqa {
namespace {

using host_protocol::LoadFailure;
using host_protocol::Reply;
using host_protocol::ReplyKind;
using host_protocol::Request;
using Received = HostProcess::Received;

/// How a request ended. Without `reply` the process ended, or was ended (`late`, `foreign`).
struct Exchange {
  std::optional<Reply> reply;
  std::optional<Reply> fault;  ///< what the process said of the signal that ended it
  bool late = false;
  bool foreign = false;  ///< a message came that is no reply
  int wait_status = 0;
};

// After its last words a process has this long to end; a kernel's children may keep its socket.
constexpr double seconds_after_fault = 2;

Exchange await(HostProcess& process, KernelDeadline deadline) {
  Exchange exchange;
  Reply reply{};
  while (true) {
    switch (process.receive(reply, deadline)) {
      case Received::reply:
        if (reply.kind != ReplyKind::fault) {
          exchange.reply = reply;
          return exchange;
        }
        exchange.fault = reply;
        deadline = std::min(deadline, deadline_in(seconds_after_fault));
        continue;
      case Received::foreign:
        exchange.foreign = true;
        process.kill();
        return exchange;
      case Received::ended:
        // A kernel that only closed the socket is ended at its deadline.
        if (const auto status = process.wait(deadline)) {
          exchange.wait_status = *status;
          return exchange;
        }
        break;
      case Received::late:
        break;
    }
    // A signal that was told is the end, whatever keeps the process.
    exchange.late = !exchange.fault;
    if (exchange.fault) exchange.wait_status = exchange.fault->code;  // as waitpid would say it
    process.kill();
    return exchange;
  }
}

std::string ending_of(const Exchange& exchange) {
  if (exchange.late) return "it did not end in time";
  if (exchange.foreign) return "its process sent what is no reply";
  if (WIFSIGNALED(exchange.wait_status)) {
    const int signal = WTERMSIG(exchange.wait_status);
    return fmt::format("its process ended by signal {} ({})", signal, strsignal(signal));
  }
  return fmt::format("its process ended with exit status {}", WEXITSTATUS(exchange.wait_status));
}

[[noreturn]] void refuse_library(const std::filesystem::path& library, const Reply& reply) {
  const std::string text = printable_line(reply.text.data());
  switch (static_cast<LoadFailure>(reply.code)) {
    case LoadFailure::no_entry_point:
      throw InputError("kernel.no_entry_point", library.string(),
                       fmt::format("does not export {}", text));
    case LoadFailure::capabilities:
      throw InputError("kernel.capabilities", library.string(),
                       fmt::format("gqa_kernel_capabilities returned {}", text));
    case LoadFailure::abi_version:
      throw InputError("kernel.abi_version", library.string(),
                       fmt::format("was built for version {} of the kernel ABI; this is version {}",
                                   text, GQA_KERNEL_ABI_VERSION));
    case LoadFailure::sandbox:
      throw InputError("kernel.no_sandbox", library.string(),
                       fmt::format("cannot be run in a sandbox here: {}", text));
    case LoadFailure::not_loadable:
      break;
  }
  // The loader begins with the path, too.
  const std::string again = library.string() + ": ";
  throw InputError("kernel.not_loadable", library.string(),
                   text.starts_with(again) ? text.substr(again.size()) : text);
}

KernelCapabilities capabilities_of(const Reply& reply) {
  const gqa_kernel_info& from = reply.capabilities;
  KernelCapabilities to;
  to.name = printable_line({from.name, strnlen(from.name, sizeof from.name)});
  to.features = from.features;
  for (int type = 0; type <= GQA_ELEMENT_FLOAT8_E5M2; ++type) {
    if ((from.element_types >> type & 1) != 0) {
      to.element_types.push_back(static_cast<ElementType>(type));
    }
  }
  for (int layout = 0; layout <= GQA_LAYOUT_THD; ++layout) {
    if ((from.layouts >> layout & 1) != 0) to.layouts.push_back(static_cast<Layout>(layout));
  }
  to.max_queries = from.max_queries;
  to.max_keys = from.max_keys;
  to.max_key_size = from.max_key_size;
  to.max_value_size = from.max_value_size;
  to.configurable = reply.configurable != 0;
  return to;
}

MemoryAccess access_of(host_protocol::Access access) {
  switch (access) {
    case host_protocol::Access::read:
      return MemoryAccess::read;
    case host_protocol::Access::write:
      return MemoryAccess::write;
    case host_protocol::Access::unknown:
      break;
  }
  return MemoryAccess::unknown;
}

void judge_changes(const Reply& reply, KernelRun& run) {
  using host_protocol::StateChange;
  constexpr std::array known{
      std::pair{StateChange::rounding_mode, KernelFinding::rounding_mode},
      std::pair{StateChange::flush_to_zero, KernelFinding::flush_to_zero},
      std::pair{StateChange::exception_traps, KernelFinding::exception_traps},
      std::pair{StateChange::signal_mask, KernelFinding::signal_mask},
      std::pair{StateChange::environment, KernelFinding::environment},
      std::pair{StateChange::working_directory, KernelFinding::working_directory}};
  for (const auto& [change, finding] : known) {
    if ((reply.changes & change) != 0) run.findings.push_back(finding);
  }
  if (reply.left_processes > 0) run.findings.push_back(KernelFinding::left_processes);
}

void judge_return(const Reply& reply, KernelRun& run) {
  run.code = reply.code;
  run.seconds = std::min(reply.seconds, run.seconds);
  judge_changes(reply, run);
  if (reply.kind == ReplyKind::threw) {
    run.status = reply.memory_exhausted != 0 ? KernelStatus::out_of_memory : KernelStatus::failed;
    run.reason = fmt::format("threw an exception: {}", printable_line(reply.text.data()));
  } else if (reply.code == GQA_KERNEL_OK) {
    run.status = KernelStatus::finished;
  } else if (reply.code == GQA_KERNEL_UNSUPPORTED) {
    run.status = KernelStatus::unsupported;
  } else {
    run.status = reply.memory_exhausted != 0 ? KernelStatus::out_of_memory : KernelStatus::failed;
  }
}

void judge_fault(const Reply& fault, const KernelCall& call, KernelRun& run) {
  if (fault.after_return != 0) {
    run.findings.push_back(KernelFinding::late_access);
    return;
  }
  if (fault.memory_exhausted != 0) run.status = KernelStatus::out_of_memory;
  if (fault.has_address == 0) return;
  const MemoryAccess access = access_of(fault.access);
  if (fault.in_memory == 0 || fault.address >= call.memory_bytes()) {
    run.fault = MemoryFault{access, {}, 0, fault.address};
    return;
  }
  run.fault = call.locate(fault.address, access);
  const auto known =
      std::ranges::find(run.outside_writes, run.fault->tensor, &OutsideWrite::tensor);
  if (access == MemoryAccess::write && known == run.outside_writes.end()) {
    run.outside_writes.push_back({run.fault->tensor, run.fault->offset});
  }
}

void judge_end(const Exchange& exchange, KernelRun& run) {
  if (exchange.late) {
    run.status = KernelStatus::timed_out;
  } else if (exchange.foreign) {
    run.status = KernelStatus::failed;
    run.reason = "its process sent what is no reply to the call";
    run.findings.push_back(KernelFinding::foreign_message);
  } else if (WIFSIGNALED(exchange.wait_status)) {
    run.status = KernelStatus::crashed;
    run.code = WTERMSIG(exchange.wait_status);
  } else {
    run.status = KernelStatus::exited;
    run.code = WEXITSTATUS(exchange.wait_status);
  }
}

}  // namespace

/// A kernel with the processes that run it, one after the other.
class KernelHost::Session {
 public:
  Session(const std::filesystem::path& library, const KernelLimits& limits,
          std::filesystem::path program)
      : library_(std::filesystem::absolute(library)),
        limits_(limits),
        program_(std::move(program)) {
    start();
  }

  const KernelCapabilities& capabilities() const { return capabilities_; }

  void configure(const std::string& options) {
    if (!capabilities_.configurable) {
      throw InputError("kernel.not_configurable", "options",
                       fmt::format("{} has no gqa_kernel_configure", library_.string()));
    }
    if (const auto finding = finding_between_calls()) unsaid_ = finding;
    if (!process_) start();
    try {
      send_options(options);
    } catch (const InputError&) {
      process_.reset();  // whatever the kernel made of them is forgotten with it
      throw;
    }
    options_ = options;
  }

  KernelRun run(const KernelCall& call) {
    std::optional<KernelFinding> between = finding_between_calls();
    if (!between) between = std::exchange(unsaid_, std::nullopt);
    if (!process_) start();
    memory_.reserve(call.memory_bytes());
    call.fill(memory_.data());
    const auto begin = std::chrono::steady_clock::now();
    const Exchange exchange = exchange_with(call.request());
    KernelRun result;
    result.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (exchange.reply) {
      judge_return(*exchange.reply, result);
    } else {
      judge_end(exchange, result);
    }
    if (between) result.findings.push_back(*between);
    call.inspect(memory_.data(), result);
    if (exchange.fault) judge_fault(*exchange.fault, call, result);
    return result;
  }

 private:
  // A thread that a call left behind may end the process later, or speak without being asked. It is
  // told with the call after it.
  std::optional<KernelFinding> finding_between_calls() {
    if (!process_) return std::nullopt;
    Reply reply{};
    const Received received = process_->receive(reply, deadline_in(0));
    if (received == Received::late) return std::nullopt;
    process_.reset();
    if (received == Received::ended) return KernelFinding::late_end;
    const bool is_fault = received == Received::reply && reply.kind == ReplyKind::fault;
    return is_fault ? KernelFinding::late_access : KernelFinding::foreign_message;
  }

  // After anything but a reply the process is gone, and the next call starts another.
  Exchange exchange_with(const Request& request) {
    const KernelDeadline deadline = deadline_in(limits_.seconds);
    process_->send(request);  // a process that is gone is noticed while waiting for it
    Exchange exchange = await(*process_, deadline);
    const bool is_answer = exchange.reply && (exchange.reply->kind == ReplyKind::returned ||
                                              exchange.reply->kind == ReplyKind::threw);
    if (exchange.reply && !is_answer) {
      exchange.reply.reset();
      exchange.foreign = true;
    }
    if (!exchange.reply || exchange.fault) process_.reset();
    return exchange;
  }

  void start() {
    process_.emplace(program_, library_, memory_.descriptor(), limits_);
    const Exchange exchange = await(*process_, deadline_in(limits_.seconds));
    if (!exchange.reply) {
      process_.reset();
      throw InputError("kernel.load_failed", library_.string(),
                       fmt::format("cannot be loaded: {}", ending_of(exchange)));
    }
    if (exchange.reply->kind != ReplyKind::loaded) {
      process_.reset();
      refuse_library(library_, *exchange.reply);
    }
    capabilities_ = capabilities_of(*exchange.reply);
    if (options_) send_options(*options_);
  }

  void send_options(const std::string& options) {
    auto request = std::make_unique<Request>();
    request->operation = host_protocol::Operation::configure;
    if (options.size() >= request->options.size()) {
      throw InputError("kernel.options_too_long", "options",
                       fmt::format("{} bytes; at most {} are passed on", options.size(),
                                   request->options.size() - 1));
    }
    std::ranges::copy(options, request->options.begin());
    const Exchange exchange = exchange_with(*request);
    const bool returned = exchange.reply && exchange.reply->kind == ReplyKind::returned;
    if (returned && exchange.reply->code == GQA_KERNEL_OK) return;
    throw InputError(
        "kernel.options_refused", "options",
        !exchange.reply ? ending_of(exchange)
        : returned ? fmt::format("\"{}\": the kernel returned {}", options, exchange.reply->code)
                   : std::string(exchange.reply->text.data()));
  }

  std::filesystem::path library_;
  KernelLimits limits_;
  std::filesystem::path program_;
  SharedMemory memory_;
  std::optional<HostProcess> process_;
  std::optional<KernelFinding> unsaid_;  // what configure() found, for the call after it
  KernelCapabilities capabilities_;
  std::optional<std::string> options_;
};

KernelHost::KernelHost(const std::filesystem::path& library, const KernelLimits& limits,
                       const std::filesystem::path& program)
    : session_(std::make_unique<Session>(library, limits,
                                         program.empty() ? find_kernel_host() : program)) {}
KernelHost::~KernelHost() = default;
KernelHost::KernelHost(KernelHost&&) noexcept = default;
KernelHost& KernelHost::operator=(KernelHost&&) noexcept = default;

const KernelCapabilities& KernelHost::capabilities() const {
  return session_->capabilities();
}

void KernelHost::configure(const std::string& options) {
  session_->configure(options);
}

KernelRun KernelHost::run(const ProblemTensors& tensors, const Contract& contract,
                          ElementType output_type, const KernelCallOptions& options) {
  return session_->run(KernelCall(tensors, contract, output_type, options));
}

}  // namespace gqa
