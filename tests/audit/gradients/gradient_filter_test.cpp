// Rung 1 of the gradients against the formula in balls: no radius may be violated, ever.
#include "gqa/audit/gradients/gradient_filter.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <limits>

#include "audit/filter_problems.hpp"
#include "audit/gradient_support.hpp"
#include "support/random.hpp"

using namespace gqa;
using gqa_test::Draw;

namespace {

struct Counts {
  std::int64_t elements = 0;
  std::int64_t rows = 0;
  std::int64_t open = 0;
  double smallest = std::numeric_limits<double>::infinity();
  double sum_of_logarithms = 0;
  std::int64_t with_error = 0;

  void print(const char* title) const {
    fmt::print(
        "{}: {} elements, {} rows ({} open); radius / error: geometric mean {:.3g}, "
        "smallest {:.3g}\n",
        title, elements, rows, open,
        std::exp(sum_of_logarithms / std::max<double>(1, static_cast<double>(with_error))),
        smallest);
  }
};

void check_part(const GradientPart& part, MatrixView<const Ball> exact, std::size_t first,
                const char* name, Counts& counts) {
  CAPTURE(name);
  for (std::size_t r = 0; r < exact.rows(); ++r) {
    ++counts.rows;
    if (part.open[first + r] != 0) {
      ++counts.open;
      continue;
    }
    for (std::size_t c = 0; c < exact.columns(); ++c) {
      const double error = abs(exact(r, c) - Ball(part.value(first + r, c))).upper_double();
      const double radius = part.radius(first + r, c);
      CAPTURE(r);
      CAPTURE(c);
      CAPTURE(to_text(exact(r, c)));
      CAPTURE(part.value(first + r, c));
      CHECK(error <= radius);
      ++counts.elements;
      if (!(error > radius * 0x1p-100)) continue;
      counts.smallest = std::min(counts.smallest, radius / error);
      counts.sum_of_logarithms += std::log(radius / error);
      ++counts.with_error;
    }
  }
}

void check_problem(const ProblemTensors& tensors, const Contract& contract,
                   const GradientFilterOptions& options, Counts& counts) {
  const AttentionProblem problem = make_problem(tensors, contract);
  const GradientProblem gradient{problem,
                                 StridedTensor(tensors.grad_output, Layout::bhsd, 0, "grad_output"),
                                 test::column_of(tensors.grad_lse)};
  const PrecisionScope precision(256);
  const auto exact = test::ball_gradients(problem, gradient);
  const Dimensions& d = problem.dimensions;
  for (std::int64_t b = 0; b < d.batch; ++b) {
    for (std::int64_t g = 0; g < d.kv_heads; ++g) {
      const HistoryGradients found = gradient_reference(gradient, b, g, options);
      CAPTURE(b);
      CAPTURE(g);
      for (std::size_t m = 0; m < found.facts.heads.size(); ++m) {
        check_part(found.query, exact.query.matrix(b, found.facts.heads[m]),
                   m * static_cast<std::size_t>(d.queries), "grad_query", counts);
      }
      check_part(found.key, exact.key.matrix(b, g), 0, "grad_key", counts);
      check_part(found.value, exact.value.matrix(b, g), 0, "grad_value", counts);
    }
  }
}

GradientFilterOptions random_gradient_options(gqa_test::Random& random) {
  GradientFilterOptions options;
  options.tile_rows = gqa_test::one_of<std::int64_t>(random, {1, 3, 16, 256});
  options.key_block = gqa_test::one_of<std::int64_t>(random, {16, 32, 256});
  options.model = gqa_test::one_of<const PrecisionModel*>(random, {nullptr, &f32_model});
  return options;
}

}  // namespace

TEST_CASE("gradient filter: no element of random problems leaves its radius") {
  Counts counts;
  for (const std::uint64_t seed : test::seeds(150)) {
    gqa_test::Random random(static_cast<unsigned>(seed));
    const gqa_test::RandomProblem drawn(random);
    ProblemTensors tensors = drawn.tensors;
    const Draw kind = gqa_test::one_of(
        random, {Draw::normal, Draw::uniform, Draw::tiny, Draw::huge, Draw::subnormal, Draw::equal,
                 Draw::integers, Draw::mixed_magnitudes});
    tensors.grad_output = test::drawn_grad_output(random, tensors, kind, ElementType::binary64);
    if (gqa_test::chance(random, 0.3)) {
      tensors.grad_lse = test::drawn_grad_lse(random, tensors, ElementType::binary64);
    }
    CAPTURE(seed);
    CAPTURE(drawn.description);
    check_problem(tensors, drawn.contract, random_gradient_options(random), counts);
  }
  counts.print("gradient filter, random problems");
  CHECK(counts.elements > 10'000);
}

TEST_CASE("gradient filter: cancelling, saturated and single keys stay within their radius") {
  Counts counts;
  for (const std::uint64_t seed : test::seeds(20)) {
    CAPTURE(seed);
    gqa_test::Random random(static_cast<unsigned>(seed));
    for (const Draw scores : {Draw::normal, Draw::tiny, Draw::huge, Draw::subnormal, Draw::equal}) {
      for (const Draw values : {Draw::normal, Draw::equal, Draw::mixed_magnitudes}) {
        gqa_test::Plain plain(random, 5, gqa_test::one_of<std::int64_t>(random, {1, 2, 31}), scores,
                              values);
        // Every value nearly the same: g.v - g.o cancels.
        if (gqa_test::chance(random, 0.5)) {
          for (double& v : plain.value) v = 1e6 + 1e-6 * v;
        }
        if (gqa_test::chance(random, 0.3)) plain.contract.softcap = Rational(1, 2);
        ProblemTensors tensors = plain.extra;
        tensors.query = gqa_test::tensor_of({1, 1, 5, 8}, plain.query, ElementType::binary64);
        tensors.key = gqa_test::tensor_of({1, 1, plain.keys, 8}, plain.key, ElementType::binary64);
        tensors.value =
            gqa_test::tensor_of({1, 1, plain.keys, 4}, plain.value, ElementType::binary64);
        tensors.grad_output =
            test::drawn_grad_output(random, tensors, Draw::normal, ElementType::binary64);
        if (gqa_test::chance(random, 0.3)) {
          tensors.grad_lse = test::drawn_grad_lse(random, tensors, ElementType::binary64);
        }
        check_problem(tensors, plain.contract, {}, counts);
      }
    }
  }
  counts.print("gradient filter, corners");
  CHECK(counts.elements > 10'000);
}

TEST_CASE("gradient filter: products that cancel leave their rounding, not a small number's") {
  Counts counts;
  for (const std::uint64_t seed : test::seeds(50)) {
    CAPTURE(seed);
    test::Random random(seed);
    // Two keys of opposite values and equal scores: the output is 0. g is nearly orthogonal to v,
    // so that g.v is small against |g| |v| and what it is rounded by is not small against it.
    constexpr std::size_t half = 64;
    std::vector<double> value(4 * half), grad(2 * half);
    for (std::size_t c = 0; c < half; ++c) {
      value[c] = value[half + c] = random.normal();
      grad[c] = random.normal();
      grad[half + c] = -grad[c] * (1 + 1e-13);
    }
    for (std::size_t c = 0; c < 2 * half; ++c) value[2 * half + c] = -value[c];
    constexpr ElementType type = ElementType::binary64;
    ProblemTensors tensors;
    tensors.query = gqa_test::tensor_of({1, 1, 1, 1}, {0}, type);
    tensors.key = gqa_test::tensor_of({1, 1, 2, 1}, {1, -1}, type);
    tensors.value = gqa_test::tensor_of({1, 1, 2, 2 * half}, value, type);
    tensors.grad_output = gqa_test::tensor_of({1, 1, 1, 2 * half}, grad, type);
    check_problem(tensors, {}, {}, counts);
  }
  counts.print("gradient filter, cancelling products");
}

TEST_CASE("gradient filter: a row that is not a number opens itself and the keys that it sees") {
  gqa_test::Random random(7);
  for (const double poison :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 1e200}) {
    gqa_test::Plain plain(random, 6, 6, Draw::normal, Draw::normal);
    plain.contract.causal = true;
    const AttentionProblem problem = plain.problem();
    std::vector<double> grad = gqa_test::draw(random, Draw::normal, 6 * 4);
    grad[3 * 4 + 1] = poison;
    const GradientProblem gradient{
        problem, StridedTensor(gqa_test::tensor_of({1, 1, 6, 4}, grad, ElementType::binary64),
                               Layout::bhsd, 0, "grad_output")};
    const HistoryGradients found = gradient_reference(gradient, 0, 0, {});
    CAPTURE(poison);
    for (std::size_t i = 0; i < 6; ++i) {
      CAPTURE(i);
      // A norm beyond 2^300 opens the whole history.
      CHECK((found.query.open[i] != 0) == (i == 3 || poison == 1e200));
      CHECK((found.key.open[i] != 0) == (i <= 3 || poison == 1e200));
      CHECK((found.value.open[i] != 0) == (i <= 3 || poison == 1e200));
    }
  }
}

TEST_CASE("gradient filter: the split into tiles and blocks stays within the radii") {
  gqa_test::Random random(3);
  gqa_test::Plain plain(random, 70, 300, Draw::normal, Draw::normal);
  plain.contract.causal = true;
  ProblemTensors tensors;
  tensors.query = gqa_test::tensor_of({1, 1, 70, 8}, plain.query, ElementType::binary64);
  tensors.key = gqa_test::tensor_of({1, 1, 300, 8}, plain.key, ElementType::binary64);
  tensors.value = gqa_test::tensor_of({1, 1, 300, 4}, plain.value, ElementType::binary64);
  tensors.grad_output =
      test::drawn_grad_output(random, tensors, Draw::normal, ElementType::binary64);
  const AttentionProblem problem = make_problem(tensors, plain.contract);
  const GradientProblem gradient{
      problem, StridedTensor(tensors.grad_output, Layout::bhsd, 0, "grad_output")};
  const HistoryGradients whole = gradient_reference(gradient, 0, 0, {});
  GradientFilterOptions cut;
  cut.tile_rows = 7;
  cut.key_block = 16;
  const HistoryGradients parts = gradient_reference(gradient, 0, 0, cut);
  const HistoryGradients again = gradient_reference(gradient, 0, 0, cut);
  CHECK(parts.key.values == again.key.values);
  CHECK(parts.query.values == again.query.values);
  for (std::size_t j = 0; j < 300; ++j) {
    for (std::size_t c = 0; c < 8; ++c) {
      CHECK(std::abs(whole.key.value(j, c) - parts.key.value(j, c)) <=
            whole.key.radius(j, c) + parts.key.radius(j, c));
    }
  }
}
