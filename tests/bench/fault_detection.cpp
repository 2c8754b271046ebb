// Which planted faults do the probes catch, and which do random inputs under usual thresholds?
//
// usage: fault_detection
// Every fault of the catalogue in the faulty kernel of tests/kernels, in three types. Random
// inputs: standard normal, B = 2, Hq = 8, Hkv = 2, T = S = 64, dk = dv = 64, one problem for each
// feature of the contract; the right kernel's output in the same type is the reference, as in
// most kernels' own tests.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <functional>

#include "diagnose/planted_faults.hpp"
#include "kernel/random_call.hpp"

using namespace gqa;

namespace {

constexpr std::int64_t batch = 2, q_heads = 8, kv_heads = 2, rows = 64, width = 64;

struct RandomProblem {
  ProblemTensors tensors;
  Contract contract;
};

RandomProblem plain_problem(test::Random& random, ElementType type, Layout layout) {
  RandomProblem p;
  p.contract.layout = layout;
  p.contract.q_num_heads = q_heads;
  p.contract.kv_num_heads = kv_heads;
  const auto tensor = [&](std::int64_t heads) {
    return test::normal_tensor(random, type, test::shape_in(layout, batch, heads, rows, width));
  };
  p.tensors.query = tensor(q_heads);
  p.tensors.key = tensor(kv_heads);
  p.tensors.value = tensor(kv_heads);
  return p;
}

std::shared_ptr<TypedTensor> random_boolean_mask(test::Random& random) {
  std::vector<std::uint64_t> bits;
  for (std::int64_t i = 0; i < q_heads * rows * rows; ++i) bits.push_back(random.one_in(4) ? 0 : 1);
  return test::tensor_of_bits(ElementType::boolean, {1, q_heads, rows, rows}, bits);
}

/// Slopes 2^-1 to 2^-8.
std::shared_ptr<TypedTensor> alibi_slopes() {
  std::vector<float> slopes;
  for (int h = 1; h <= q_heads; ++h) slopes.push_back(std::ldexp(1.0F, -h));
  return test::tensor_of({q_heads}, slopes);
}

/// Every feature once, all causal where that is usual.
std::vector<RandomProblem> random_problems(ElementType type) {
  test::Random random(1);
  using Declare = std::function<void(RandomProblem&)>;
  const auto normal = [&](Shape shape) {
    return test::normal_tensor(random, type, std::move(shape));
  };
  const std::vector<std::pair<Layout, Declare>> features{
      {Layout::bhsd, [](RandomProblem&) {}},
      {Layout::bhsd, [](RandomProblem& p) { p.contract.causal = true; }},
      {Layout::bhsd, [](RandomProblem& p) { p.contract.scale = Rational(1, 16); }},
      {Layout::bhsd,
       [](RandomProblem& p) {
         p.contract.window = {16, -1};
       }},
      {Layout::bhsd,
       [](RandomProblem& p) {
         p.contract.window = {16, 8};
       }},
      {Layout::bhsd, [](RandomProblem& p) { p.contract.softcap = 30; }},
      {Layout::bhsd, [&](RandomProblem& p) { p.tensors.attn_mask = random_boolean_mask(random); }},
      {Layout::bhsd,
       [&](RandomProblem& p) {
         p.tensors.attn_mask = normal({rows, rows});
       }},
      {Layout::bhsd, [](RandomProblem& p) { p.tensors.alibi_slopes = alibi_slopes(); }},
      {Layout::bhsd, [&](RandomProblem& p) { p.tensors.sink = normal({q_heads}); }},
      {Layout::bhsd,
       [](RandomProblem& p) {
         p.tensors.nonpad_kv_seqlen = test::tensor_of_bits(ElementType::int64, {batch}, {40, 64});
       }},
      {Layout::bhsd,
       [&](RandomProblem& p) {
         p.tensors.past_key = normal({batch, kv_heads, rows, width});
         p.tensors.past_value = normal({batch, kv_heads, rows, width});
       }},
      {Layout::bshd, [](RandomProblem&) {}},
      {Layout::bsh, [](RandomProblem&) {}}};
  std::vector<RandomProblem> problems;
  for (std::size_t n = 0; n < features.size(); ++n) {
    problems.push_back(plain_problem(random, type, features[n].first));
    // The first problem and the layouts' are not causal.
    problems.back().contract.causal = n != 0 && features[n].first == Layout::bhsd;
    features[n].second(problems.back());
  }
  return problems;
}

/// What each threshold says of an output.
struct Caught {
  bool at_1e2 = false, at_1e3 = false, by_mean_square = false, by_probes = false, named = false;
};

bool is_close(double x, double reference, double tolerance) {
  return std::abs(x - reference) <= tolerance + tolerance * std::abs(reference);
}

void compare(const std::vector<double>& output, const std::vector<double>& reference,
             Caught& caught) {
  double error = 0, power = 0;
  for (std::size_t i = 0; i < output.size(); ++i) {
    caught.at_1e2 = caught.at_1e2 || !is_close(output[i], reference[i], 1e-2);
    caught.at_1e3 = caught.at_1e3 || !is_close(output[i], reference[i], 1e-3);
    error += (output[i] - reference[i]) * (output[i] - reference[i]);
    power += reference[i] * reference[i];
  }
  if (!(error <= 5e-4 * power)) caught.by_mean_square = true;
}

std::vector<double> output_of(KernelHost& host, const RandomProblem& p, ElementType type) {
  const KernelRun run = host.run(p.tensors, p.contract, type);
  return run.output ? decode(*run.output, "output").data() : std::vector<double>{};
}

Caught try_fault(KernelHost& host, const std::string& slug, ElementType type,
                 const std::vector<RandomProblem>& problems,
                 const std::vector<std::vector<double>>& references) {
  Caught caught;
  host.configure(slug);
  for (std::size_t n = 0; n < problems.size(); ++n) {
    compare(output_of(host, problems[n], type), references[n], caught);
  }
  const ProbeReport report = run_probes(kernel_runner(host, type), type);
  caught.named = test::named_by(report.diagnosis) == slug;
  caught.by_probes = report.count(Verdict::fail) > 0 || caught.named;
  return caught;
}

void measure(ElementType type) {
  KernelHost host = test::load_example_kernel("faulty");
  const auto problems = random_problems(type);
  std::vector<std::vector<double>> references;
  for (const RandomProblem& p : problems) references.push_back(output_of(host, p, type));
  int at_1e2 = 0, at_1e3 = 0, by_mean_square = 0, by_probes = 0, named = 0;
  std::vector<std::string> missed;
  const auto slugs = test::catalogue_slugs();
  for (const std::string& slug : slugs) {
    const Caught caught = try_fault(host, slug, type, problems, references);
    at_1e2 += caught.at_1e2 ? 1 : 0;
    at_1e3 += caught.at_1e3 ? 1 : 0;
    by_mean_square += caught.by_mean_square ? 1 : 0;
    by_probes += caught.by_probes ? 1 : 0;
    named += caught.named ? 1 : 0;
    if (!caught.at_1e3) missed.push_back(slug);
  }
  fmt::print("| {} | {} | {} | {} | {} | {} | {} |\n", name(type), slugs.size(), by_probes, named,
             at_1e2, at_1e3, by_mean_square);
  fmt::print("missed at 1e-3 in {}: {}\n", name(type), fmt::join(missed, ", "));
  std::fflush(stdout);
}

}  // namespace

int main() {
  fmt::print("| type | faults | probes | named | 1e-2 | 1e-3 | NMSE 5e-4 |\n");
  for (const ElementType type : test::probed_types) measure(type);
}
