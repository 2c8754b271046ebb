// What a kernel does to its process and to others: each is told by name, and the next call is as if
// nothing had happened.
#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "gqa/kernel/host_protocol.hpp"
#include "io/io_support.hpp"
#include "kernel/kernel_support.hpp"
#include "support/random.hpp"

using namespace gqa;
using test::load_kernel;
using test::mean_problem;

namespace {

KernelRun call_with(KernelHost& host, const std::string& options) {
  host.configure(options);
  return host.run(mean_problem(), Contract(), ElementType::binary32);
}

void require_well_again(KernelHost& host) {
  const KernelRun run = call_with(host, "");
  INFO(describe(run));
  REQUIRE(run.is_clean());
  CHECK(decode(*run.output).data() == std::vector<double>{1});
}

bool has_finding(const KernelRun& run, KernelFinding finding) {
  return std::ranges::find(run.findings, finding) != run.findings.end();
}

// A copy of the kernel under a name of its own, so that its processes can be told from others'.
class OwnKernel {
 public:
  explicit OwnKernel(double seconds = 10) {
    path_ = folder_ / "kernel.so";
    std::filesystem::copy_file(test::kernel_path("misbehaving"), path_);
    limits_.seconds = seconds;
  }

  KernelHost load() const { return KernelHost(path_, limits_, GQAVERIFY_KERNEL_HOST); }

  /// How many there are, once there are as many as expected, or after four seconds. (Orphans are
  /// looked for ten times a second.)
  std::size_t processes(std::size_t expected) const {
    for (int tries = 0; tries < 200 && count() != expected; ++tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return count();
  }

 private:
  std::size_t count() const {
    std::size_t found = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      std::ifstream line(entry.path() / "cmdline");
      const std::string text((std::istreambuf_iterator<char>(line)),
                             std::istreambuf_iterator<char>());
      if (text.find(path_.string()) != std::string::npos) ++found;
    }
    return found;
  }

  test::TemporaryDirectory folder_;
  std::filesystem::path path_;
  KernelLimits limits_;
};

}  // namespace

TEST_CASE("hostile kernels: what a call leaves changed is a finding with a name, and is put back") {
  const std::pair<const char*, KernelFinding> cases[] = {
    {"round", KernelFinding::rounding_mode},
#if defined(__x86_64__)
    {"flush", KernelFinding::flush_to_zero},
    {"traps", KernelFinding::exception_traps},
#endif
    {"mask", KernelFinding::signal_mask},
    {"environment", KernelFinding::environment},
    {"directory", KernelFinding::working_directory},
  };
  KernelHost host = load_kernel("misbehaving");
  for (const auto& [word, finding] : cases) {
    CAPTURE(word);
    const KernelRun run = call_with(host, word);
    INFO(describe(run));
    CHECK(run.status == KernelStatus::finished);
    CHECK(run.findings == std::vector{finding});
    CHECK_FALSE(run.is_clean());
    CHECK(describe(run).find(name(finding)) != std::string::npos);
    require_well_again(host);
  }
}

TEST_CASE("hostile kernels: threads that wait are nothing, threads that write late are a finding") {
  KernelHost host = load_kernel("misbehaving");
  const KernelRun waiting = call_with(host, "thread");
  INFO(describe(waiting));
  CHECK(waiting.is_clean());
  // Usually it ends the process before the call is over; on a busy machine the thread comes later,
  // and is told of with the call after.
  KernelRun late = call_with(host, "late");
  CHECK((late.status == KernelStatus::crashed || late.status == KernelStatus::finished));
  for (int more = 0; more < 20 && !has_finding(late, KernelFinding::late_access); ++more) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    late = call_with(host, "");
  }
  INFO(describe(late));
  CHECK(has_finding(late, KernelFinding::late_access));
  require_well_again(host);
}

TEST_CASE("hostile kernels: what a kernel starts ends with the call, wherever it went") {
  const OwnKernel kernel;
  {
    KernelHost host = kernel.load();
    for (const char* word : {"fork 5", "escape 5"}) {
      CAPTURE(word);
      const KernelRun run = call_with(host, word);
      INFO(describe(run));
      CHECK(run.status == KernelStatus::finished);
      CHECK(run.findings == std::vector{KernelFinding::left_processes});
      CHECK(kernel.processes(2) == 2);  // the one that runs it, and its supervisor
      require_well_again(host);
    }
  }
  CHECK(kernel.processes(0) == 0);
}

TEST_CASE("hostile kernels: a crash is told as such though children hold the socket") {
  const OwnKernel kernel(30);
  KernelHost host = kernel.load();
  const KernelRun run = call_with(host, "hold");
  INFO(describe(run));
  CHECK(run.status == KernelStatus::crashed);
  CHECK(run.code == SIGABRT);
  CHECK(run.seconds < 10);
  CHECK(kernel.processes(0) == 0);
  require_well_again(host);
}

TEST_CASE("hostile kernels: messages that are no replies are a finding, and are not believed") {
  KernelHost host = load_kernel("misbehaving");
  for (const std::size_t bytes :
       {std::size_t{1}, std::size_t{24}, sizeof(host_protocol::Reply), std::size_t{60000}}) {
    CAPTURE(bytes);
    const KernelRun run = call_with(host, "garbage " + std::to_string(bytes));
    INFO(describe(run));
    CHECK(run.status == KernelStatus::failed);
    CHECK(run.findings == std::vector{KernelFinding::foreign_message});
    CHECK(run.output == nullptr);
    require_well_again(host);
  }
}

TEST_CASE("hostile kernels: the shared memory cannot be taken away, and may grow") {
  KernelHost host = load_kernel("misbehaving");
  for (const char* word : {"shrink", "grow"}) {
    const KernelRun run = call_with(host, word);
    INFO(describe(run));
    CHECK(run.is_clean());  // nothing came of it
    require_well_again(host);
    // A larger problem than before, so that more of the memory is needed.
    ProblemTensors larger = mean_problem();
    larger.key =
        test::tensor_of(ElementType::binary32, {1, 1, 70000, 1}, std::vector<double>(70000, 1));
    larger.value = larger.key;
    CHECK(host.run(larger, Contract(), ElementType::binary32).is_clean());
  }
}

TEST_CASE("hostile kernels: a process that ends between two calls is told with the second") {
  KernelHost host = load_kernel("misbehaving");
  CHECK(call_with(host, "alarm").is_clean());
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  const KernelRun next = host.run(mean_problem(), Contract(), ElementType::binary32);
  INFO(describe(next));
  CHECK(next.status == KernelStatus::finished);
  CHECK(next.findings == std::vector{KernelFinding::late_end});
  require_well_again(host);
}

TEST_CASE("hostile kernels: the parent that a kernel may signal is not the auditor") {
  const OwnKernel kernel(1);
  KernelHost host = kernel.load();
  for (const int signal : {SIGTERM, SIGKILL, SIGSTOP}) {
    CAPTURE(signal);
    const KernelRun run = call_with(host, "terminate_parent " + std::to_string(signal));
    INFO(describe(run));
    CHECK(run.status != KernelStatus::out_of_memory);
    // The signal may arrive when the call has been answered: its end is told with the next one.
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    const KernelRun next = call_with(host, "");
    INFO(describe(next));
    CHECK(next.status == KernelStatus::finished);
    for (const KernelFinding finding : next.findings) CHECK(finding == KernelFinding::late_end);
    require_well_again(host);
  }
  const KernelRun deaf = call_with(host, "ignore");
  CHECK(deaf.status == KernelStatus::timed_out);
  require_well_again(host);
  CHECK(kernel.processes(2) == 2);
}

TEST_CASE("hostile kernels: of random messages none is a valid reply, of changed ones few") {
  using namespace host_protocol;
  test::Random random(20261130);
  for (int message = 0; message < 100000; ++message) {
    Reply reply;
    auto* bytes = reinterpret_cast<unsigned char*>(&reply);
    for (std::size_t i = 0; i < sizeof reply; ++i) {
      bytes[i] = static_cast<unsigned char>(random.integer(0, 255));
    }
    CHECK_FALSE(is_valid(reply, 1));
    // The number known: what is read of it is in its range all the same.
    reply.number = 1;
    if (is_valid(reply, 1)) {
      CHECK(reply.text.back() == '\0');
      CHECK(reply.kind <= ReplyKind::fault);
    }
  }
}
