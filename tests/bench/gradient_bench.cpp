// What certification of gradients costs: rung 1 against the same products without a radius.
//
// usage: gradient_bench [rounds]
// One line for each size: seconds of the plain pass, and the medians of the ratios of certified
// to plain passes, timed in turns.
#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <atomic>
#include <cmath>
#include <cstdlib>

#include "bench_support.hpp"
#include "gqa/audit/gradients/gradient_filter.hpp"
#include "gqa/audit/models/precision_model.hpp"

namespace {

using namespace gqa_bench;

void run(const GradientProblem& gradient, const GradientFilterOptions& options) {
  std::atomic<std::int64_t> beyond{0};
  tbb::parallel_for(std::int64_t{0}, gradient.kv_heads(), [&](std::int64_t kv_head) {
    const HistoryGradients found = gradient_reference(gradient, 0, kv_head, options);
    std::int64_t count = 0;
    for (const GradientPart* part : {&found.query, &found.key, &found.value}) {
      for (std::size_t r = 0; r < part->spread.size(); ++r) {
        for (std::size_t c = 0; c < static_cast<std::size_t>(Case::width); ++c) {
          double allowed = 1e6;
          if (options.radius) allowed -= part->radius(r, c);
          if (options.model != nullptr) allowed += 1e-30 * part->surely_moved(r, c, 6);
          if (!(std::abs(part->value(r, c)) <= allowed)) ++count;
        }
        if (part->open[r] != 0) ++count;
      }
    }
    beyond += count;
  });
  if (beyond != 0) std::abort();
}

void measure(const char* name, const Case& sizes, int rounds) {
  const ProblemTensors tensors = sizes.tensors();
  const AttentionProblem problem = make_problem(tensors, sizes.contract());
  const GradientProblem gradient{
      problem,
      StridedTensor(normal_tensor(tensors.query->shape, 4), Layout::bhsd, 0, "grad_output"),
      {},
      0x1p-24,
      0x1p-126};
  const GradientFilterOptions plain{.radius = false};
  const GradientFilterOptions certified{};
  const GradientFilterOptions model{.model = &f32_model};
  double fastest = 1e300;
  std::vector<double> with_radius, with_model, with_radius_cpu, with_model_cpu;
  for (int i = 0; i < rounds; ++i) {
    const Time base = time_of([&] { run(gradient, plain); });
    const Time radius = time_of([&] { run(gradient, certified); });
    const Time variances = time_of([&] { run(gradient, model); });
    fastest = std::min(fastest, base.wall);
    with_radius.push_back(radius.wall / base.wall);
    with_model.push_back(variances.wall / base.wall);
    with_radius_cpu.push_back(radius.cpu / base.cpu);
    with_model_cpu.push_back(variances.cpu / base.cpu);
  }
  fmt::print(
      "{:<22} plain {:.3f} s; certified / plain {:.3f} (cpu {:.3f}); with the variances of "
      "f32 {:.3f} (cpu {:.3f})\n",
      name, fastest, median(with_radius), median(with_radius_cpu), median(with_model),
      median(with_model_cpu));
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 5;
  measure("T=512 S=4096", {512, 4096, false, 8, 2}, rounds);
  measure("T=1024 S=1024", {1024, 1024, false, 8, 2}, rounds);
  measure("T=1024 S=1024 causal", {1024, 1024, true, 8, 2}, rounds);
  measure("T=1 S=8192", {1, 8192, false, 32, 8}, rounds);
}
