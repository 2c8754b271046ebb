// Healthy kernels against the likely bound of their precision model.
//
// usage: calibration [SEED [SCALE]]     (default 1 1)
// Every preset, ten shapes from T=1 S=16 to T=512 S=4096 (d = 128, causal from the bottom
// right), four kinds of inputs, five ways to compute: one pass with strictly sequential sums,
// tiles of 32 keys, one key at a time, normalised weights, four parts merged by their
// log-sum-exp; every step rounded as the preset says (tests/audit/rounded_kernels.hpp). A
// problem is one set of operands with one way; of a problem with many rows, the first, the
// last and two more are computed. Prints the largest |output - exact| / likely, the bound in
// ball arithmetic. SCALE multiplies the number of problems. Exit status 1 if a ratio exceeds 1
// where no running sum can stall (n u_l <= 2).
#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <numeric>
#include <vector>

#include "audit/rounded_kernels.hpp"
#include "calibration_inputs.hpp"
#include "gqa/audit/decide/element_decision.hpp"
#include "gqa/audit/enclose/enclosure.hpp"

namespace {

using namespace gqa;
using gqa_bench::draw_operands;
using gqa_bench::Inputs;

struct Sizes {
  std::int64_t queries, keys, operand_sets;
};
constexpr Sizes shapes[] = {{1, 16, 24},  {4, 16, 12},   {1, 64, 16},  {16, 64, 6},
                            {1, 256, 12}, {64, 256, 6},  {1, 1024, 6}, {256, 1024, 3},
                            {1, 4096, 2}, {512, 4096, 1}};

struct Found {
  double largest = 0;
  std::int64_t problems = 0;
  std::int64_t beyond = 0;
};

constexpr std::int64_t width = 128;

// Row i of T, as a problem of one row that sees the first S - T + i + 1 keys.
test::RoundedOperands one_row(const gqa_bench::DrawnOperands& all, const Sizes& sizes,
                              std::int64_t row) {
  test::RoundedOperands o;
  o.keys = sizes.keys - sizes.queries + row + 1;
  o.key_size = o.value_size = width;
  const auto part = [](const std::vector<double>& from, std::int64_t begin, std::int64_t end) {
    return std::vector(from.begin() + begin * width, from.begin() + end * width);
  };
  o.query = part(all.query, row, row + 1);
  o.key = part(all.key, 0, o.keys);
  o.value = part(all.value, 0, o.keys);
  return o;
}

// Largest error / likely of one row, for each way.
std::vector<double> ratios(const test::RoundedOperands& operands,
                           const test::KernelFormats& formats) {
  const std::vector<double> none(static_cast<std::size_t>(width));
  const AttentionProblem problem = to_problem(operands, formats, none);
  const EnclosureReader reader(problem, 0, 0);
  const auto visible = reader.visible(0, 0);
  const auto exact = reader.row(0, 0, visible);
  const RowRounding rounding = reader.rounding(*formats.model, 0, 0, visible, exact);
  const RoundingBound bound(*formats.model, rounding,
                            formats.model->output_rounding(problem.output->format()));
  std::vector<Ball> likely;
  for (std::int64_t c = 0; c < width; ++c) {
    likely.push_back(
        bound.column(reader.value_column(visible, c), exact.output[static_cast<std::size_t>(c)])
            .likely);
  }
  std::vector<double> result;
  for (const test::Way way : test::all_ways) {
    const std::vector<double> output = test::RoundedKernel(operands, formats, way).run();
    double largest = 0;
    for (std::size_t c = 0; c < output.size(); ++c) {
      const Ball error = absolute_error(output[c], exact.output[c]);
      // NaN must count as beyond.
      const double ratio = (error / likely[c]).upper_double();
      if (!(ratio <= largest)) largest = ratio;
    }
    result.push_back(largest);
  }
  return result;
}

std::vector<std::int64_t> sampled_rows(std::int64_t queries, test::Random& random) {
  if (queries <= 4) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(queries));
    std::iota(all.begin(), all.end(), std::int64_t{0});
    return all;
  }
  return {0, random.integer(1, queries / 2), random.integer(queries / 2 + 1, queries - 2),
          queries - 1};
}

Found run_cell(const Sizes& sizes, const test::KernelFormats& formats, Inputs inputs,
               std::uint64_t seed, std::int64_t operand_sets) {
  Found found;
  std::mutex mutex;
  tbb::parallel_for(std::int64_t{0}, operand_sets, [&](std::int64_t set) {
    const std::uint64_t operand_seed = seed * 1000003 + static_cast<std::uint64_t>(set);
    test::Random random(operand_seed);
    const auto all =
        draw_operands(inputs, sizes.queries, sizes.keys, width, formats.stored(), random);
    std::vector<double> largest(std::size(test::all_ways));
    for (const std::int64_t row : sampled_rows(sizes.queries, random)) {
      const auto of_row = ratios(one_row(all, sizes, row), formats);
      for (std::size_t w = 0; w < largest.size(); ++w) {
        largest[w] = std::max(largest[w], of_row[w]);
      }
    }
    const std::lock_guard lock(mutex);
    for (std::size_t w = 0; w < largest.size(); ++w) {
      ++found.problems;
      found.largest = std::max(found.largest, largest[w]);
      if (largest[w] <= 1) continue;
      ++found.beyond;
      fmt::print(stderr, "beyond: {} {} T={} S={} seed {} way {}: {}\n", formats.model->name,
                 name(inputs), sizes.queries, sizes.keys, operand_seed, w, largest[w]);
    }
  });
  return found;
}

// One table: shapes down, kinds of inputs across.
Found run_preset(const test::KernelFormats& formats, std::uint64_t seed, std::int64_t scale) {
  fmt::print("\n{}\n\n| shape |", formats.model->name);
  for (const Inputs inputs : gqa_bench::all_inputs) fmt::print(" {} |", name(inputs));
  fmt::print("\n|---|---|---|---|---|\n");
  Found total;
  for (const Sizes& sizes : shapes) {
    const double units = static_cast<double>(sizes.keys) * formats.model->denominator;
    fmt::print("| T={} S={}{} |", sizes.queries, sizes.keys, units > 2 ? ", sums may stall" : "");
    for (const Inputs inputs : gqa_bench::all_inputs) {
      const Found cell = run_cell(sizes, formats, inputs, seed, sizes.operand_sets * scale);
      fmt::print(" {:.3f} |", cell.largest);
      std::fflush(stdout);
      total.problems += cell.problems;
      total.largest = std::max(total.largest, cell.largest);
      // Where a running sum stalls only the worst case is a theorem (docs/tolerance.md, "Sums that
      // stall").
      if (units <= 2) total.beyond += cell.beyond;
    }
    fmt::print("\n");
  }
  return total;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
  const std::int64_t scale = argc > 2 ? std::atoll(argv[2]) : 1;
  Found total;
  for (const test::KernelFormats& formats : test::kernels_of_all_models()) {
    const Found found = run_preset(formats, seed, scale);
    total.problems += found.problems;
    total.beyond += found.beyond;
  }
  fmt::print("\n{} problems, {} beyond likely where no sum may stall\n", total.problems,
             total.beyond);
  return total.beyond == 0 ? 0 : 1;
}
