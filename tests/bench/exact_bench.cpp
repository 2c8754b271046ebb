// Exact arithmetic: the enumeration, and weighted sums on cleared denominators against
// naive accumulation of fractions. Ratios are taken within one run (RESULTS.md).
#include <benchmark/benchmark.h>

#include <random>

#include "gqa/exact/enumeration.hpp"
#include "gqa/num/limb_pool.hpp"
#include "gqa/num/weighted_mean.hpp"

namespace {

using gqa::Rational;

constexpr std::size_t rows = 32;     // T
constexpr std::size_t keys = 128;    // S
constexpr std::size_t columns = 32;  // dv

// Fractions with numerators and denominators of up to four digits, seeded.
std::vector<Rational> fractions(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Rational> result;
  for (std::size_t i = 0; i < count; ++i) {
    result.push_back(gqa::make_rational(static_cast<long>(random() % 9999 + 1),
                                        static_cast<long>(random() % 12 + 1)));
  }
  return result;
}

struct Sums {
  std::vector<Rational> values = fractions(keys * columns, 1);
  std::vector<Rational> weights = fractions(rows * keys, 2);
  std::vector<std::size_t> visible;
  Sums() {
    for (std::size_t j = 0; j < keys; ++j) visible.push_back(j);
  }
  std::span<const Rational> row(std::size_t i) const {
    return std::span(weights).subspan(i * keys, keys);
  }
};

void cleared_sums(const Sums& sums, std::vector<Rational>& output) {
  const gqa::ClearedColumns cleared(sums.values, keys, columns);
  for (std::size_t i = 0; i < rows; ++i) {
    cleared.means(sums.row(i), sums.visible, Rational(0),
                  std::span(output).subspan(i * columns, columns));
  }
}

void naive_sums(const Sums& sums, std::vector<Rational>& output) {
  for (std::size_t i = 0; i < rows; ++i) {
    const std::span<const Rational> weights = sums.row(i);
    Rational total;
    for (const Rational& weight : weights) total += weight;
    for (std::size_t c = 0; c < columns; ++c) {
      Rational sum;
      for (std::size_t j = 0; j < keys; ++j) sum += weights[j] * sums.values[j * columns + c];
      output[i * columns + c] = sum / total;
    }
  }
}

void weighted_sums_cleared(benchmark::State& state) {
  const Sums sums;
  std::vector<Rational> output(rows * columns);
  std::vector<Rational> expected(rows * columns);
  cleared_sums(sums, output);
  naive_sums(sums, expected);
  if (output != expected) state.SkipWithError("cleared and naive sums differ");
  for (auto _ : state) cleared_sums(sums, output);
}
BENCHMARK(weighted_sums_cleared)->Unit(benchmark::kMillisecond);

void weighted_sums_naive(benchmark::State& state) {
  const Sums sums;
  std::vector<Rational> output(rows * columns);
  for (auto _ : state) naive_sums(sums, output);
}
BENCHMARK(weighted_sums_naive)->Unit(benchmark::kMillisecond);

void enumeration(benchmark::State& state, gqa::Engine engine) {
  for (auto _ : state) {
    const auto result = gqa::enumerate_cases(12, engine);
    if (!result.holds() || result.cases != 210) state.SkipWithError("the enumeration failed");
  }
}
BENCHMARK_CAPTURE(enumeration, gmp, gqa::Engine::gmp)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(enumeration, boost, gqa::Engine::boost)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace

int main(int argc, char** argv) {
  gqa::use_limb_pool();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
