// Healthy backward passes against what a precision model allows them, and the power of that.
//
// usage: gradient_calibration [SEED [PROBLEMS [SIZE]]]     (default 1 2000 64)
// A problem is one history of random size (queries and keys up to SIZE, up to 8 query heads, width
// 16, 64 or 128), one kind of operands, one kernel (tests/audit/backward_kernels.hpp) and one way
// to go about it: flash in bfloat16, binary16 and binary32, sequential, in lanes or in tiles, its
// output from one pass or online; eager in bfloat16 and binary16; the heads' parts together, stored
// each, or summed in 16 bits. Prints the largest |recorded - exact| over what is allowed.
// Then faults: how many of the same problems are refuted by each, for flash and binary32.
// Exit status 1 if a healthy one is beyond. A fourth argument is the number of problems with faults
// (240 as published; 0: none).
#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

#include "audit/backward_kernels.hpp"
#include "audit/gradient_shares.hpp"

namespace {

using namespace gqa;
using namespace gqa::test;

constexpr const char* input_names[] = {"normal",       "uniform", "queries x 2",    "queries x 4",
                                       "mean 1",       "sink",    "sink, g > 0",    "values near 1",
                                       "zero queries", "3 keys",  "3 keys, 1 query"};
constexpr const char* kernel_names[] = {"bf16 flash", "f16 flash", "f32", "bf16 eager",
                                        "f16 eager"};

struct Drawn {
  std::size_t kernel_name = 0;
  BackwardInputs inputs{};
  double grad_scale = 1;
  BackwardKernel kernel;
  BackwardOperands operands;
};

Drawn draw_problem(std::uint64_t seed, std::int64_t largest) {
  Random random(seed);
  Drawn drawn;
  drawn.kernel_name = seed % 5;
  constexpr ElementType types[] = {ElementType::bfloat16, ElementType::binary16,
                                   ElementType::binary32, ElementType::bfloat16,
                                   ElementType::binary16};
  BackwardKernel& kernel = drawn.kernel;
  kernel.storage = types[drawn.kernel_name];
  kernel.eager = drawn.kernel_name >= 3;
  kernel.online = !kernel.eager && random.one_in(2);
  kernel.sums = random.pick({Summation::sequential, Summation::lanes, Summation::tiles});
  kernel.parts = random.pick({HeadParts::together, HeadParts::stored, HeadParts::running_sum});
  drawn.inputs = static_cast<BackwardInputs>(random.integer(0, 10));
  drawn.grad_scale = random.pick({1.0, 1e-4});
  const auto size = [&] {
    return std::min(largest, random.pick<std::int64_t>({1, 7, 16, 16, 64, 64, 128, 256}));
  };
  const std::int64_t queries = size();
  std::int64_t keys = size();
  const bool causal = random.one_in(2);
  if (causal) keys = std::max(keys, queries);
  drawn.operands = draw_backward(
      random, drawn.inputs, *float_format(kernel.storage), random.pick<std::int64_t>({1, 1, 4, 8}),
      queries, keys, random.pick<std::int64_t>({16, 64, 128}), drawn.grad_scale, causal);
  return drawn;
}

struct Found {
  std::array<double, 3> largest{};
  std::array<double, 3> worst{};
  std::array<std::string, 3> where;
  std::array<std::int64_t, 3> beyond{};
  std::int64_t problems = 0;
  std::int64_t elements = 0;
  std::int64_t unknown = 0;
};

bool calibrate(std::uint64_t seed, std::int64_t problems, std::int64_t largest) {
  std::map<std::size_t, Found> found;
  std::mutex mutex;
  tbb::parallel_for(std::int64_t{0}, problems, [&](std::int64_t problem) {
    const std::uint64_t one = seed * 1000003 + static_cast<std::uint64_t>(problem);
    const Drawn drawn = draw_problem(one, largest);
    const BackwardOperands& o = drawn.operands;
    const ProblemTensors tensors =
        backward_tensors(o, drawn.kernel.storage, BackwardRun(o, drawn.kernel).run());
    const GradientShares shares =
        gradient_shares(tensors, backward_contract(o), model_of(drawn.kernel));
    const std::lock_guard lock(mutex);
    Found& to = found[drawn.kernel_name];
    ++to.problems;
    to.elements += shares.elements;
    to.unknown += shares.unknown;
    for (std::size_t k = 0; k < 3; ++k) {
      const double share = shares.allowed[k];
      to.worst[k] = std::max(to.worst[k], shares.worst[k]);
      const std::string what = fmt::format(
          "{}, g x {:g}, heads {} T {} S {} d {}{}, sums {}, parts {}, seed {}",
          input_names[static_cast<std::size_t>(drawn.inputs)], drawn.grad_scale, o.heads, o.queries,
          o.keys, o.key_size, o.causal ? " causal" : "", static_cast<int>(drawn.kernel.sums),
          static_cast<int>(drawn.kernel.parts), one);
      if (!(share <= 1)) {
        ++to.beyond[k];
        fmt::print(stderr, "beyond: {} {}: {:.3f}: {}\n", kernel_names[drawn.kernel_name],
                   name(gradient_kinds[k]), share, what);
      }
      if (!(share > to.largest[k])) continue;
      to.largest[k] = share;
      to.where[k] = what;
    }
  });
  bool healthy = true;
  std::int64_t elements = 0;
  std::int64_t unknown = 0;
  fmt::print(
      "\n| kernel | problems | gradient | largest share | of the worst case | beyond | of\n"
      "|---|---|---|---|---|---|---|\n");
  for (const auto& [kernel, of] : found) {
    elements += of.elements;
    unknown += of.unknown;
    for (std::size_t k = 0; k < 3; ++k) {
      fmt::print("| {} | {} | {} | {:.3f} | {:.3f} | {} | {} |\n", kernel_names[kernel],
                 of.problems, name(gradient_kinds[k]), of.largest[k], of.worst[k], of.beyond[k],
                 of.where[k]);
      healthy = healthy && of.beyond[k] == 0;
    }
  }
  fmt::print("\n{} problems, {} elements, {} of them left to enclosures\n", problems, elements,
             unknown);
  return healthy;
}

// Faults of the recorded gradients, of that kind.
constexpr const char* fault_names[] = {"zero",    "negated",         "doubled",   "halved",
                                       "delta=0", "another KV head", "times 1.05"};
using Faults = std::array<std::array<std::int64_t, 3>, 7>;

std::vector<double> faulty(std::size_t fault, const std::vector<double>& right,
                           const std::vector<double>& other, const std::vector<double>& no_delta,
                           const FloatFormat& format) {
  if (fault == 4) return no_delta;
  if (fault == 5) return other;
  constexpr double factors[] = {0, -1, 2, 0.5, 0, 0, 1.05};
  std::vector<double> values = right;
  for (double& x : values) x = rounded(format, x * factors[fault]);
  return values;
}

void add_faults(std::uint64_t seed, std::int64_t largest, std::size_t kernel, Faults& refuted) {
  Random random(seed);
  Drawn drawn = draw_problem(seed * 5 + kernel, largest);
  constexpr BackwardInputs kinds[] = {BackwardInputs::normal, BackwardInputs::uniform,
                                      BackwardInputs::queries4, BackwardInputs::mean1,
                                      BackwardInputs::sink};
  const BackwardInputs inputs = kinds[static_cast<std::size_t>(random.integer(0, 4))];
  const auto size = [&] {
    return std::min(largest, random.pick<std::int64_t>({7, 16, 64, 128, 256}));
  };
  const std::int64_t queries = size();
  const bool causal = random.one_in(2);
  const std::int64_t keys = causal ? std::max(queries, size()) : size();
  const auto heads = random.pick<std::int64_t>({1, 4, 8});
  const auto width = random.pick<std::int64_t>({16, 64, 128});
  BackwardKernel right_kernel = drawn.kernel;
  right_kernel.parts = HeadParts::together;
  BackwardKernel dropped = right_kernel;
  dropped.delta_dropped = true;
  const FloatFormat& format = *float_format(drawn.kernel.storage);
  // Two KV heads: a fault of both is refuted if it is in one.
  std::vector<BackwardOperands> operands;
  std::vector<BackwardResult> right, no_delta;
  for (int kv_head = 0; kv_head < 2; ++kv_head) {
    operands.push_back(draw_backward(random, inputs, format, heads, queries, keys, width,
                                     drawn.grad_scale, causal, 20));
    right.push_back(BackwardRun(operands.back(), right_kernel).run());
    no_delta.push_back(BackwardRun(operands.back(), dropped).run());
  }
  for (std::size_t fault = 0; fault < std::size(fault_names); ++fault) {
    std::array<bool, 3> beyond{};
    for (std::size_t h = 0; h < 2; ++h) {
      const BackwardResult& mine = right[h];
      const BackwardResult& other = right[1 - h];
      const BackwardResult wrong{faulty(fault, mine.query, other.query, no_delta[h].query, format),
                                 faulty(fault, mine.key, other.key, no_delta[h].key, format),
                                 faulty(fault, mine.value, other.value, no_delta[h].value, format)};
      const GradientShares shares =
          gradient_shares(backward_tensors(operands[h], drawn.kernel.storage, wrong),
                          backward_contract(operands[h]), model_of(right_kernel));
      for (std::size_t k = 0; k < 3; ++k) beyond[k] = beyond[k] || shares.allowed[k] > 1;
    }
    for (std::size_t k = 0; k < 3; ++k) refuted[fault][k] += beyond[k] ? 1 : 0;
  }
}

void measure_power(std::uint64_t seed, std::int64_t problems, std::int64_t largest) {
  for (std::size_t kernel = 0; kernel < std::size(kernel_names); ++kernel) {
    Faults refuted{};
    std::mutex mutex;
    tbb::parallel_for(std::int64_t{0}, problems, [&](std::int64_t problem) {
      Faults one{};
      add_faults(seed * 1009 + static_cast<std::uint64_t>(problem), largest, kernel, one);
      const std::lock_guard lock(mutex);
      for (std::size_t f = 0; f < one.size(); ++f) {
        for (std::size_t k = 0; k < 3; ++k) refuted[f][k] += one[f][k];
      }
    });
    fmt::print(
        "\n{}: refuted of {}\n\n| fault | grad_query | grad_key | grad_value "
        "|\n|---|---|---|---|\n",
        kernel_names[kernel], problems);
    for (std::size_t f = 0; f < refuted.size(); ++f) {
      fmt::print("| {} | {} | {} | {} |\n", fault_names[f], refuted[f][0], refuted[f][1],
                 refuted[f][2]);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
  const std::int64_t problems = argc > 2 ? std::atoll(argv[2]) : 2000;
  const std::int64_t largest = argc > 3 ? std::atoll(argv[3]) : 64;
  const std::int64_t power = argc > 4 ? std::atoll(argv[4]) : 240;
  const bool healthy = calibrate(seed, problems, largest);
  if (power > 0) measure_power(seed, power, largest);
  return healthy ? 0 : 1;
}
