// What a whole audit costs: gqa::audit, with its decisions, against the same computation
// without a radius; and its memory.
//
// usage: audit_bench [ROUNDS [PART...]]     (default 7, all parts: memory, prefill, square,
// decode, open, enclosures, threads, dgemm)
// Prints one row of a table per ratio: the median over the rounds of the ratio within a round,
// whose sides are timed one right after the other, so that whatever else the machine does hits
// them alike. Operands and outputs are binary32, d = 128; outputs are those of a healthy
// binary32 kernel.
#include <fmt/format.h>
#include <malloc.h>
#include <sys/wait.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "bench_support.hpp"
#include "gqa/audit/audit.hpp"
#include "gqa/audit/filter/filter.hpp"

namespace {

using namespace gqa_bench;

/// A problem whose output is that of a healthy kernel.
AttentionProblem healthy_problem(const Case& sizes) {
  ProblemTensors tensors = sizes.tensors();
  tensors.output = binary32_output(sizes, tensors);
  return make_problem(tensors, sizes.contract());
}

// A healthy output is within; far enough from the kernel's errors to need no enclosure.
const Tolerance stated = AbsoluteRelativeTolerance{make_rational(1, 100000), power_of_two(-16)};
const Tolerance model = ModelTolerance{&f32_model};

void run_audit(const AttentionProblem& problem, const Tolerance& tolerance, bool use_filter = true,
               Verdict expected = Verdict::pass) {
  AuditOptions options;
  options.tolerance = tolerance;
  options.use_filter = use_filter;
  if (audit(problem, options).verdict == expected) return;
  std::fputs("the verdict is not what it should be\n", stderr);
  std::exit(1);
}

// The reference as a careful engineer computes it: same tiles, same BLAS, same exp, no radius;
// every element compared with a tolerance, numpy.allclose's way.
void run_plain(const AttentionProblem& problem) {
  std::atomic<std::int64_t> beyond{0};
  filter_reference(problem, {.radius = false}, [&](const FilterTile& tile) {
    std::vector<double> output(static_cast<std::size_t>(tile.columns));
    std::int64_t count = 0;
    for (std::size_t r = 0; r < tile.rows.size(); ++r) {
      const FilterRow& row = tile.rows[r];
      problem.output->read_rows(tile.batch, row.head, row.row, row.row + 1, output.data(),
                                output.size());
      for (std::int64_t c = 0; c < tile.columns; ++c) {
        const double reference = tile.output(r, c);
        const double error = std::abs(output[static_cast<std::size_t>(c)] - reference);
        if (!(error <= 1e-5 + 0x1p-16 * std::abs(reference))) ++count;
      }
    }
    beyond += count;
  });
  if (beyond != 0) std::abort();
}

using Body = std::function<void()>;

struct Ratio {
  double wall;
  double cpu;  // of processor time: less at the mercy of what else the machine does
};

// The medians of slow / fast over the rounds; the order changes from round to round.
Ratio ratio(int rounds, int repeats, const Body& slow, const Body& fast) {
  std::vector<double> wall, cpu;
  const auto repeated = [repeats](const Body& body) {
    return time_of([&] {
      for (int i = 0; i < repeats; ++i) body();
    });
  };
  for (int round = 0; round < rounds; ++round) {
    Time first, second;
    if (round % 2 == 0) first = repeated(slow);
    second = repeated(fast);
    if (round % 2 != 0) first = repeated(slow);
    wall.push_back(first.wall / second.wall);
    cpu.push_back(first.cpu / second.cpu);
  }
  return {median(wall), median(cpu)};
}

void print_row(const std::string& what, const std::string& shape, double figure,
               const std::string& wanted) {
  fmt::print("| {} | {} | {:.3f} | {} |\n", what, shape, figure, wanted);
  std::fflush(stdout);
}

void print_row(const std::string& what, const std::string& shape, const Ratio& ratio,
               const std::string& wanted) {
  print_row(fmt::format("{} (processor time {:.3f})", what, ratio.cpu), shape, ratio.wall, wanted);
}

void certified_against_plain(const Case& sizes, const std::string& shape, int rounds, int repeats,
                             const std::string& wanted) {
  const AttentionProblem problem = healthy_problem(sizes);
  const Body plain = [&] { run_plain(problem); };
  plain();
  print_row("audit, stated tolerance / plain", shape,
            ratio(
                rounds, repeats, [&] { run_audit(problem, stated); }, plain),
            wanted);
  print_row("audit, model f32 / plain", shape,
            ratio(
                rounds, repeats, [&] { run_audit(problem, model); }, plain),
            "at most 1.40");
}

// The reference of a problem without output, in binary32.
std::shared_ptr<TypedTensor> rounded_reference(const AttentionProblem& problem) {
  const Dimensions& d = problem.dimensions;
  auto output = std::make_shared<TypedTensor>();
  output->shape = {d.batch, d.q_heads, d.queries, d.value_size};
  output->bytes.resize(static_cast<std::size_t>(element_count(output->shape)) * sizeof(float));
  filter_reference(problem, {}, [&](const FilterTile& tile) {
    for (std::size_t r = 0; r < tile.rows.size(); ++r) {
      const FilterRow& row = tile.rows[r];
      float* to = floats(*output) + (row.head * d.queries + row.row) * tile.columns;
      for (std::int64_t c = 0; c < tile.columns; ++c) to[c] = static_cast<float>(tile.output(r, c));
    }
  });
  return output;
}

std::shared_ptr<TypedTensor> constant_per_head(std::int64_t heads, float value) {
  auto tensor = normal_tensor({heads}, 0);
  std::fill_n(floats(*tensor), heads, value);
  return tensor;
}

// Rows that the tiles' sums alone do not decide: wrong outputs, and every further feature.
void open_rows(const Case& sizes, const std::string& shape, int rounds) {
  ProblemTensors tensors = sizes.tensors();
  // One key short: the first KV head misses its last key, the others read shifted histories.
  tensors.output = binary32_output({.queries = sizes.queries, .keys = sizes.keys - 1}, tensors);
  const AttentionProblem wrong = make_problem(tensors, sizes.contract());
  const auto model_fails = [&] { run_audit(wrong, model, true, Verdict::fail); };
  const auto stated_fails = [&] { run_audit(wrong, stated, true, Verdict::fail); };
  print_row("audit of a wrong output, model f32 / stated", shape,
            ratio(rounds, 1, model_fails, stated_fails), "-");

  tensors.sink = constant_per_head(sizes.q_heads, 0);
  tensors.alibi_slopes = constant_per_head(sizes.q_heads, 0.01F);
  Contract contract = sizes.contract();
  contract.softcap = 30;
  tensors.output = nullptr;
  tensors.output = rounded_reference(make_problem(tensors, contract));
  const AttentionProblem all = make_problem(tensors, contract);
  print_row("audit with softcap, ALiBi and sinks, model f32 / stated", shape,
            ratio(
                rounds, 1, [&] { run_audit(all, model); }, [&] { run_audit(all, stated); }),
            "-");
}

// Both sides audit the same rows: few, since enclosures take long, and enough of them for the
// filter to have full tiles.
void enclosures_against_filter() {
  const Case sizes{.queries = 64, .keys = 1024, .q_heads = 4, .kv_heads = 1};
  const AttentionProblem problem = healthy_problem(sizes);
  for (const auto& [name, tolerance] : {std::pair{"stated", stated}, {"model f32", model}}) {
    print_row(fmt::format("enclosures alone / audit, {}", name), "Hq=4 Hkv=1 T=64 S=1024",
              ratio(
                  1, 1, [&] { run_audit(problem, tolerance, false); },
                  [&] { run_audit(problem, tolerance); }),
              "at least 40");
  }
}

void one_thread_against_two(const Case& sizes, const std::string& shape, int rounds) {
  const AttentionProblem problem = healthy_problem(sizes);
  const auto with_threads = [&](std::size_t threads) {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    run_audit(problem, stated);
  };
  print_row("audit, one thread / two", shape,
            ratio(
                rounds, 1, [&] { with_threads(1); }, [&] { with_threads(2); }),
            "at least 1.8");
}

void fraction_of_dgemm(const Case& sizes, const std::string& shape, int rounds) {
  const AttentionProblem problem = healthy_problem(sizes);
  for (const auto& [name, tolerance] : {std::pair{"stated", stated}, {"model f32", model}}) {
    std::vector<double> fractions;
    for (int round = 0; round < rounds; ++round) {
      const double machine = dgemm_rate(tbb::this_task_arena::max_concurrency());
      const double seconds = time_of([&] { run_audit(problem, tolerance); }).wall;
      fractions.push_back(sizes.floating_point_operations() / seconds / machine);
    }
    print_row(fmt::format("audit, {}: fraction of dgemm", name), shape, median(fractions),
              "at least 0.6");
  }
}

// MiB of a field of /proc/self/status.
double status_mib(const std::string& field) {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    double kib = 0;
    if (word == field + ":" && status >> kib) return kib / 1024;
  }
  std::abort();
}

// In a process of its own: a peak cannot be taken back.
void peak_memory(const Case& sizes, const std::string& shape) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const AttentionProblem problem = healthy_problem(sizes);
    // What the kernel freed must not hide what the audit takes; then the peak is set to what
    // is resident now.
    malloc_trim(0);
    std::ofstream("/proc/self/clear_refs") << "5";
    const double before = status_mib("VmRSS");
    run_audit(problem, model);
    print_row("audit, model f32: peak MiB above the inputs", shape, status_mib("VmHWM") - before,
              "at most 256");
    std::_Exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 7;
  const std::vector<std::string> parts(argv + std::min(argc, 2), argv + argc);
  const auto wanted = [&parts](const char* part) {
    return parts.empty() || std::ranges::find(parts, part) != parts.end();
  };
  const Case prefill{.queries = 512, .keys = 4096};
  fmt::print("| what | shape | measured | wanted |\n|---|---|---|---|\n");
  if (wanted("memory"))
    peak_memory({.queries = 8192, .keys = 8192, .causal = true}, "T=S=8192, causal");
  if (wanted("prefill")) {
    certified_against_plain(prefill, "T=512 S=4096", rounds, 1, "at most 1.10");
  }
  if (wanted("square")) {
    certified_against_plain({.queries = 2048, .keys = 2048}, "T=S=2048", rounds, 1, "at most 1.10");
  }
  if (wanted("decode")) {
    certified_against_plain({.queries = 1, .keys = 8192}, "T=1 S=8192", 3 * rounds, 10,
                            "at most 1.25");
  }
  if (wanted("open")) open_rows(prefill, "T=512 S=4096", rounds);
  if (wanted("enclosures")) enclosures_against_filter();
  if (wanted("threads")) one_thread_against_two(prefill, "T=512 S=4096", rounds);
  if (wanted("dgemm")) fraction_of_dgemm(prefill, "T=512 S=4096", rounds);
}
