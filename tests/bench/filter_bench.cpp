// What certification costs: the filter against the same computation without a radius.
//
// usage: filter_bench [--benchmark_filter=...]
// The variants of one ratio are timed in turns within one benchmark, so that whatever else
// the machine does hits them alike; the counters give medians of the ratios of the rounds
// (and `*_min`, the ratio of the fastest rounds; `*_cpu`, of processor time).
#include <benchmark/benchmark.h>
#include <tbb/task_arena.h>

#include <atomic>

#include "bench_support.hpp"
#include "gqa/audit/filter/filter.hpp"

namespace {

using namespace gqa_bench;

// The whole reference, every element read as an audit would: compared with a tolerance.
void run(const AttentionProblem& problem, const FilterOptions& options) {
  std::atomic<std::int64_t> beyond{0};
  filter_reference(problem, options, [&](const FilterTile& tile) {
    std::int64_t count = 0;
    for (std::size_t r = 0; r < tile.rows.size(); ++r) {
      for (std::int64_t c = 0; c < tile.columns; ++c) {
        const double allowed = options.radius ? 1e6 - tile.radius(r, c) : 1e6;
        if (!(std::abs(tile.output(r, c)) <= allowed)) ++count;
      }
      if (tile.rows[r].open) ++count;
    }
    beyond += count;
  });
  if (beyond != 0) std::abort();
}

// Ratios of the times of variants to those of the first, round by round.
void compare(benchmark::State& state, const std::vector<const char*>& names,
             const std::vector<std::function<void()>>& variants, int repeats) {
  std::vector<std::vector<Time>> times(variants.size());
  for (auto _ : state) {
    for (std::size_t v = 0; v < variants.size(); ++v) {
      times[v].push_back(time_of([&] {
        for (int i = 0; i < repeats; ++i) variants[v]();
      }));
    }
  }
  const auto fastest = [](const std::vector<Time>& all, double Time::*field) {
    double least = 1e300;
    for (const Time& time : all) least = std::min(least, time.*field);
    return least;
  };
  for (std::size_t v = 0; v < variants.size(); ++v) {
    state.counters[std::string(names[v]) + "_s"] = fastest(times[v], &Time::wall) / repeats;
    if (v == 0) continue;
    std::vector<double> ratios;
    for (std::size_t i = 0; i < times[v].size(); ++i) {
      ratios.push_back(times[v][i].wall / times[0][i].wall);
    }
    const std::string name = std::string(names[v]) + "/" + names[0];
    state.counters[name] = median(ratios);
    state.counters[name + "_min"] = fastest(times[v], &Time::wall) / fastest(times[0], &Time::wall);
    state.counters[name + "_cpu"] = fastest(times[v], &Time::cpu) / fastest(times[0], &Time::cpu);
  }
}

void certified_against_plain(benchmark::State& state, Case sizes, int repeats) {
  const AttentionProblem problem = make_problem(sizes.tensors(), sizes.contract());
  const FilterOptions plain{.radius = false};
  const FilterOptions certified{};
  const FilterOptions model{.model_terms = true};
  compare(state, {"plain", "certified", "model"},
          {[&] { run(problem, plain); }, [&] { run(problem, certified); },
           [&] { run(problem, model); }},
          repeats);
}

void one_thread_against_two(benchmark::State& state, Case sizes) {
  const AttentionProblem problem = make_problem(sizes.tensors(), sizes.contract());
  compare(state, {"two", "one"},
          {[&] { run(problem, {.threads = 2}); }, [&] { run(problem, {.threads = 1}); }}, 1);
}

void fraction_of_dgemm(benchmark::State& state, Case sizes) {
  const AttentionProblem problem = make_problem(sizes.tensors(), sizes.contract());
  std::vector<double> fractions;
  double fastest = 0;
  double product = 0;
  for (auto _ : state) {
    const double machine = dgemm_rate(tbb::this_task_arena::max_concurrency());
    const double rate = sizes.floating_point_operations() / time_of([&] { run(problem, {}); }).wall;
    fractions.push_back(rate / machine);
    fastest = std::max(fastest, rate);
    product = std::max(product, machine);
  }
  state.counters["fraction"] = median(fractions);
  state.counters["fraction_of_best"] = fastest / product;
  state.counters["dgemm_GF"] = product * 1e-9;
}

void peak_memory(benchmark::State& state, Case sizes) {
  const auto peak = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) / 1024;
  };
  const AttentionProblem problem = make_problem(sizes.tensors(), sizes.contract());
  const double before = peak();
  for (auto _ : state) run(problem, {.model_terms = true});
  state.counters["MiB_above_inputs"] = peak() - before;
}

constexpr Case long_history{512, 4096, false};
constexpr Case square{2048, 2048, false};
constexpr Case causal_square{2048, 2048, true};
constexpr Case decoding{1, 8192, false};

}  // namespace

BENCHMARK_CAPTURE(certified_against_plain, T512_S4096, long_history, 1)
    ->Iterations(9)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(certified_against_plain, T2048_S2048, square, 1)
    ->Iterations(7)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(certified_against_plain, T2048_S2048_causal, causal_square, 1)
    ->Iterations(9)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(certified_against_plain, T1_S8192, decoding, 10)
    ->Iterations(31)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(one_thread_against_two, T512_S4096, long_history)
    ->Iterations(7)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(fraction_of_dgemm, T512_S4096, long_history)
    ->Iterations(9)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(fraction_of_dgemm, T2048_S2048_causal, causal_square)
    ->Iterations(9)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(peak_memory, T8192_S8192, (Case{8192, 8192, true}))
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

BENCHMARK_MAIN();
