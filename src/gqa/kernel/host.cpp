#include "gqa/kernel/host.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>

#include "gqa/error.hpp"
#include "gqa/kernel/host_process.hpp"
#include "gqa/kernel/kernel_call.hpp"
#include "gqa/kernel/shared_memory.hpp"

namespace gqa {
namespace {

using host_protocol::LoadFailure;
using host_protocol::Reply;
using host_protocol::ReplyKind;
using host_protocol::Request;
using Received = HostProcess::Received;

/// How a request ended. Without `reply` the process ended, or was ended (`late`).
struct Exchange {
  std::optional<Reply> reply;
  std::optional<Reply> fault;  ///< what the process said of the signal that ended it
  bool late = false;
  int wait_status = 0;
};

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
        continue;
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
    exchange.late = true;
    process.kill();
    return exchange;
  }
}

std::string ending_of(const Exchange& exchange) {
  if (exchange.late) return "it did not end in time";
  if (WIFSIGNALED(exchange.wait_status)) {
    const int signal = WTERMSIG(exchange.wait_status);
    return fmt::format("its process ended by signal {} ({})", signal, strsignal(signal));
  }
  return fmt::format("its process ended with exit status {}", WEXITSTATUS(exchange.wait_status));
}

[[noreturn]] void refuse_library(const std::filesystem::path& library, const Reply& reply) {
  const char* text = reply.text.data();
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
    case LoadFailure::not_loadable:
      break;
  }
  throw InputError("kernel.not_loadable", library.string(), text);
}

KernelCapabilities capabilities_of(const Reply& reply) {
  const gqa_kernel_info& from = reply.capabilities;
  KernelCapabilities to;
  to.name.assign(from.name, strnlen(from.name, sizeof from.name));
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
  to.configurable = reply.configurable;
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

void judge_return(const Reply& reply, KernelRun& run) {
  run.code = reply.code;
  run.seconds = reply.seconds;
  if (reply.kind == ReplyKind::threw) {
    run.status = reply.memory_exhausted ? KernelStatus::out_of_memory : KernelStatus::failed;
    run.reason = fmt::format("threw an exception: {}", reply.text.data());
  } else if (reply.code == GQA_KERNEL_OK) {
    run.status = KernelStatus::finished;
  } else if (reply.code == GQA_KERNEL_UNSUPPORTED) {
    run.status = KernelStatus::unsupported;
  } else {
    run.status = reply.memory_exhausted ? KernelStatus::out_of_memory : KernelStatus::failed;
  }
}

void judge_fault(const Reply& fault, const KernelCall& call, KernelRun& run) {
  if (fault.memory_exhausted) run.status = KernelStatus::out_of_memory;
  if (!fault.has_address) return;
  const MemoryAccess access = access_of(fault.access);
  if (!fault.in_memory) {
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
    call.inspect(memory_.data(), result);
    if (exchange.fault) judge_fault(*exchange.fault, call, result);
    return result;
  }

 private:
  // After anything but a reply the process is gone, and the next call starts another.
  Exchange exchange_with(const Request& request) {
    const KernelDeadline deadline = deadline_in(limits_.seconds);
    process_->send(request);  // a process that is gone is noticed while waiting for it
    Exchange exchange = await(*process_, deadline);
    if (!exchange.reply) process_.reset();
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
                   : exchange.reply->text.data());
  }

  std::filesystem::path library_;
  KernelLimits limits_;
  std::filesystem::path program_;
  SharedMemory memory_;
  std::optional<HostProcess> process_;
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
