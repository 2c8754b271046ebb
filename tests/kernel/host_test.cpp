// What a kernel does wrong is told, and never ends the caller.
#include <doctest/doctest.h>

#include <chrono>
#include <csignal>

#include "kernel/kernel_support.hpp"
#include "support/errors.hpp"

using namespace gqa;
using test::kernel_path;
using test::load_kernel;
using test::mean_problem;
using test::output_of;
using test::refusal_of;
using test::tensor_of;

namespace {

constexpr ElementType binary32_type = ElementType::binary32;

KernelRun run_mean(KernelHost& host, const KernelCallOptions& options = {}) {
  return host.run(mean_problem(), Contract(), binary32_type, options);
}

/// The misbehaving kernel, told what to do, called once.
KernelRun misbehave(KernelHost& host, const std::string& how,
                    const KernelCallOptions& options = {}) {
  host.configure(how);
  return run_mean(host, options);
}

/// After whatever happened, a well-behaved call works.
void require_recovered(KernelHost& host) {
  host.configure("");
  const KernelRun run = run_mean(host);
  INFO(describe(run));
  REQUIRE(run.is_clean());
  CHECK(decode(*run.output).data() == std::vector<double>{1});
}

}  // namespace

TEST_CASE("host: a kernel says what it can do") {
  const KernelHost host = load_kernel("plain");
  const KernelCapabilities& can = host.capabilities();
  CHECK(can.name == "plain");
  CHECK(can.has(GQA_FEATURE_CAUSAL));
  CHECK(can.has(GQA_FEATURE_MIXED_TYPES));
  CHECK(can.supports(ElementType::float8_e5m2));
  CHECK(!can.supports(ElementType::int8));
  CHECK(can.supports(Layout::thd));
  CHECK(!can.configurable);
  const KernelHost bare = load_kernel("throwing");
  CHECK(bare.capabilities().features == 0);
  CHECK(bare.capabilities().element_types.empty());
  CHECK(bare.capabilities().layouts.empty());
  CHECK(bare.capabilities().name.empty());
}

TEST_CASE("host: 64 tiny calls take well under a second") {
  KernelHost host = load_kernel("plain");
  const auto start = std::chrono::steady_clock::now();
  for (int call = 0; call < 64; ++call) CHECK(output_of(run_mean(host))[0] == 2);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  CHECK(taken.count() < 1);
}

TEST_CASE("host: a crash is told with its signal and address, and the next call works") {
  KernelHost host = load_kernel("misbehaving");
  const KernelRun run = misbehave(host, "crash 24");
  CHECK(run.status == KernelStatus::crashed);
  CHECK(run.code == SIGSEGV);
  REQUIRE(run.fault.has_value());
  CHECK(run.fault->tensor.empty());
  CHECK(run.fault->address == 24);
#if defined(__x86_64__)
  CHECK(run.fault->access == MemoryAccess::write);
  CHECK(describe(run) == "crashed with signal 11 (Segmentation fault), writing at address 0x18");
#endif
  CHECK(run.output == nullptr);
  CHECK(!run.is_clean());
  require_recovered(host);
}

TEST_CASE("host: abort is a crash with SIGABRT, a stack overflow one with SIGSEGV") {
  KernelHost host = load_kernel("misbehaving");
  KernelRun run = misbehave(host, "abort");
  CHECK(run.status == KernelStatus::crashed);
  CHECK(run.code == SIGABRT);
  CHECK(!run.fault.has_value());
  run = misbehave(host, "recurse");
  CHECK(run.status == KernelStatus::crashed);
  CHECK(run.code == SIGSEGV);
  require_recovered(host);
}

TEST_CASE("host: exit is told with its status, also when that is 0") {
  KernelHost host = load_kernel("misbehaving");
  KernelRun run = misbehave(host, "exit 0");
  CHECK(run.status == KernelStatus::exited);
  CHECK(run.code == 0);
  CHECK(run.output == nullptr);
  run = misbehave(host, "exit 3");
  CHECK(run.status == KernelStatus::exited);
  CHECK(run.code == 3);
  CHECK(describe(run) == "ended its process with exit status 3");
  require_recovered(host);
}

TEST_CASE("host: a kernel that sleeps, spins or hangs up is ended at its limit") {
  KernelLimits limits;
  limits.seconds = 0.5;
  KernelHost host = load_kernel("misbehaving", limits);
  for (const char* how : {"hang", "spin", "close"}) {
    CAPTURE(how);
    const KernelRun run = misbehave(host, how);
    // A descriptor closed after the output was written leaves a process that only ends.
    if (std::string(how) == "close") {
      CHECK((run.status == KernelStatus::exited || run.status == KernelStatus::timed_out));
    } else {
      CHECK(run.status == KernelStatus::timed_out);
      CHECK(run.seconds >= 0.5);
    }
    CHECK(run.seconds < 5);
    CHECK(run.output == nullptr);
    require_recovered(host);
  }
}

TEST_CASE("host: a kernel that allocates without end is stopped by its memory limit") {
  KernelLimits limits;
  limits.memory_bytes = std::uint64_t{64} << 20;
  KernelHost host = load_kernel("misbehaving", limits);
  const KernelRun run = misbehave(host, "allocate");
  CHECK(run.status == KernelStatus::out_of_memory);
  CHECK(run.seconds < 5);
  CHECK(describe(run).starts_with("ran out of the memory that it may take"));
  require_recovered(host);
}

TEST_CASE("host: in a sandbox a kernel runs, and reaches no file, socket or other process") {
  KernelHost free = load_kernel("misbehaving");
  const KernelRun reached = misbehave(free, "reach");
  CHECK(reached.status == KernelStatus::failed);
  CHECK(reached.code == 100 + 63);
  KernelLimits limits;
  limits.sandbox = true;
  try {
    KernelHost host = load_kernel("misbehaving", limits);
    const KernelRun run = misbehave(host, "reach");
    CHECK(run.status == KernelStatus::failed);
    CHECK(run.code == 100);
    // What is watched from inside is still seen.
    CHECK(misbehave(host, "abort").status == KernelStatus::crashed);
    require_recovered(host);
    CHECK(misbehave(host, "fork 5").findings == std::vector{KernelFinding::left_processes});
    require_recovered(host);
  } catch (const InputError& error) {
    // A system without Landlock or seccomp runs nothing.
    CHECK(error.code() == "kernel.no_sandbox");
    MESSAGE(error.what());
  }
}

TEST_CASE("host: errors are told as the kernel's own numbers, unsupported is none") {
  KernelHost host = load_kernel("misbehaving");
  KernelRun run = misbehave(host, "return 7");
  CHECK(run.status == KernelStatus::failed);
  CHECK(run.code == 7);
  CHECK(run.output == nullptr);
  run = misbehave(host, "return -5");
  CHECK(run.status == KernelStatus::failed);
  CHECK(run.code == -5);
  run = misbehave(host, "return 1");
  CHECK(run.status == KernelStatus::unsupported);
  require_recovered(host);
}

TEST_CASE("host: an exception is a failure with its text, bad_alloc is a lack of memory") {
  KernelHost host = load_kernel("throwing");
  CHECK(run_mean(host).status == KernelStatus::out_of_memory);
  const KernelRun run = run_mean(host);
  CHECK(run.status == KernelStatus::failed);
  CHECK(describe(run) == "failed: threw an exception: the tile is too wide");
}

TEST_CASE("host: a write next to the output is told with its byte, though the kernel finished") {
  KernelHost host = load_kernel("misbehaving");
  // The output is one binary32 element: bytes 0 to 3.
  for (const std::int64_t offset : {-4096, -1, 4, 63, 64, 4000}) {
    CAPTURE(offset);
    const KernelRun run = misbehave(host, "write " + std::to_string(offset));
    CHECK(run.status == KernelStatus::finished);
    REQUIRE(run.outside_writes.size() == 1);
    CHECK(run.outside_writes[0].tensor == "output");
    CHECK(run.outside_writes[0].offset == offset);
    CHECK(!run.is_clean());
    CHECK(run.changed_inputs.empty());
  }
  require_recovered(host);
}

TEST_CASE("host: a write far from the output hits a guard and is told with its byte") {
  KernelHost host = load_kernel("misbehaving");
  for (const std::int64_t offset : {-9000, 9000, 500'000}) {
    CAPTURE(offset);
    const KernelRun run = misbehave(host, "write " + std::to_string(offset));
    CHECK(run.status == KernelStatus::crashed);
    CHECK(run.code == SIGSEGV);
    REQUIRE(run.fault.has_value());
    CHECK(run.fault->tensor == "output");
    CHECK(run.fault->offset == offset);
#if defined(__x86_64__)
    CHECK(run.wrote_outside_output());
    CHECK(run.outside_writes[0].offset == offset);
#endif
  }
  require_recovered(host);
}

TEST_CASE("host: reading behind an input hits a guard and is no write") {
  KernelHost host = load_kernel("misbehaving");
  const KernelRun run = misbehave(host, "read_key 64");
  CHECK(run.status == KernelStatus::crashed);
  REQUIRE(run.fault.has_value());
  CHECK(run.fault->tensor == "key");
  CHECK(run.fault->offset == 64);
  CHECK(run.fault->access != MemoryAccess::write);
  CHECK(run.outside_writes.empty());
  require_recovered(host);
}

TEST_CASE("host: a changed input is named, with its first byte and both digests") {
  KernelHost host = load_kernel("misbehaving");
  const KernelRun run = misbehave(host, "change_value 5");
  CHECK(run.status == KernelStatus::finished);
  REQUIRE(run.changed_inputs.size() == 1);
  CHECK(run.changed_inputs[0].name == "value");
  CHECK(run.changed_inputs[0].first_byte == 5);
  CHECK(run.changed_inputs[0].digest_before != run.changed_inputs[0].digest_after);
  CHECK(run.outside_writes.empty());
  CHECK(describe(run) == "finished; changed its input value from byte 5 on");
  require_recovered(host);
}

TEST_CASE("host: output elements that are never written are counted, in every float type") {
  KernelHost host = load_kernel("misbehaving");
  host.configure("skip 2");
  for (const ElementType type :
       {ElementType::binary64, ElementType::binary32, ElementType::binary16, ElementType::bfloat16,
        ElementType::float8_e4m3fn, ElementType::float8_e5m2}) {
    CAPTURE(name(type));
    ProblemTensors t = mean_problem(type);
    t.value = tensor_of(type, {1, 1, 2, 4}, {0, 0, 0, 0, 0, 0, 0, 0});
    const KernelRun run = host.run(t, Contract(), type);
    CHECK(run.status == KernelStatus::finished);
    CHECK(run.unwritten_elements == 1);
    CHECK(run.first_unwritten == 2);
    CHECK(std::isnan(decode(*run.output).data()[2]));
    CHECK(describe(run) == "finished; left 1 output elements unwritten, the first of them 2");
  }
  require_recovered(host);
}

TEST_CASE("host: rows may be put apart, and a write into a gap of the output is outside it") {
  KernelHost plain = load_kernel("plain");
  KernelCallOptions options;
  options.query_row_stride_factor = 2;
  options.key_row_stride_factor = 3;
  options.value_row_stride_factor = 2;
  options.output_row_stride_factor = 4;
  CHECK(output_of(run_mean(plain, options))[0] == 2);
  KernelHost host = load_kernel("misbehaving");
  const KernelRun run = misbehave(host, "write 7", options);
  REQUIRE(run.outside_writes.size() == 1);
  CHECK(run.outside_writes[0].offset == 7);
  options.key_row_stride_factor = 0;
  CHECK(refusal_of([&] { run_mean(plain, options); }) == "kernel.stride_factor at key");
}

TEST_CASE("host: a kernel that takes rows for contiguous reads NaN from the gaps") {
  KernelHost host = load_kernel("faulty");
  host.configure("layout.value_strides_of_key");
  KernelCallOptions options;
  options.value_row_stride_factor = 2;
  CHECK(std::isnan(output_of(run_mean(host, options))[0]));
}

TEST_CASE("host: what a kernel prints stays in its process") {
  KernelHost host = load_kernel("misbehaving");
  CHECK(misbehave(host, "print").is_clean());
}

TEST_CASE("host: options survive a crash, and refused ones change nothing") {
  KernelHost host = load_kernel("misbehaving");
  host.configure("crash");
  CHECK(run_mean(host).status == KernelStatus::crashed);
  CHECK(run_mean(host).status == KernelStatus::crashed);
  CHECK(refusal_of([&] { host.configure("refuse"); }) == "kernel.options_refused at options");
  CHECK(refusal_of([&] { host.configure(std::string(9000, ' ')); }) ==
        "kernel.options_too_long at options");
  CHECK(run_mean(host).status == KernelStatus::crashed);
  KernelHost plain = load_kernel("plain");
  CHECK(refusal_of([&] { plain.configure("x"); }) == "kernel.not_configurable at options");
  KernelHost faulty = load_kernel("faulty");
  CHECK(refusal_of([&] { faulty.configure("head_map.tiled,scale.thrice"); }) ==
        "kernel.options_refused at options");
}

TEST_CASE("host: a library that cannot be run is refused with its reason") {
  const auto refusal = [](const std::string& name) {
    return refusal_of([&] { load_kernel(name); });
  };
  const auto at = [](const std::string& name) { return " at " + kernel_path(name).string(); };
  CHECK(refusal("missing") == "kernel.not_loadable" + at("missing"));
  CHECK(refusal("version") == "kernel.abi_version" + at("version"));
  CHECK(refusal("entryless") == "kernel.no_entry_point" + at("entryless"));
  CHECK(refusal("crash_at_load") == "kernel.load_failed" + at("crash_at_load"));
  CHECK(refusal_of([] { KernelHost(kernel_path("plain"), {}, "/nowhere/host"); }) ==
        "kernel.host_not_found at /nowhere/host");
}

TEST_CASE("host: a problem that is wrong in itself is not put before a kernel") {
  KernelHost host = load_kernel("plain");
  ProblemTensors t = mean_problem();
  t.value = nullptr;
  CHECK(refusal_of([&] { host.run(t, Contract(), binary32_type); }) ==
        "contract.missing_tensor at value");
  t = mean_problem();
  t.key = tensor_of(binary32_type, {1, 2, 2, 1}, {0, 0, 0, 0});
  CHECK(refusal_of([&] { host.run(t, Contract(), binary32_type); }) ==
        "contract.shape_mismatch at value");
  CHECK(refusal_of([&] { host.run(mean_problem(), Contract(), ElementType::int8); }) ==
        "contract.element_type at output");
  CHECK(output_of(run_mean(host))[0] == 2);
}
