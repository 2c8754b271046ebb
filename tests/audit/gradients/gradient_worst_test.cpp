// The worst case of gradients: no healthy backward pass is beyond it, and faults are.
#include "gqa/audit/gradients/gradient_worst.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "audit/gradient_shares.hpp"
#include "audit/gradient_support.hpp"
#include "audit/rounded_gradients.hpp"
#include "gqa/audit/model_choice.hpp"

using namespace gqa;
using test::BackwardOperands;
using test::KernelFormats;

namespace {

AuditResult audit_under(const ProblemTensors& tensors, const Contract& contract, GradientKind kind,
                        const PrecisionModel& model, bool filter = true) {
  AuditOptions options;
  ModelTolerance tolerance{&model};
  tolerance.accept_worst_case = true;
  options.tolerance = tolerance;
  options.use_filter = filter;
  return test::audit_gradient(tensors, contract, kind, options);
}

}  // namespace

TEST_CASE("gradient worst case: no healthy backward pass of any model is accused") {
  for (const KernelFormats& formats : test::kernels_of_all_models()) {
    std::int64_t elements = 0;
    std::int64_t undecided = 0;
    double share = 0;
    for (const std::uint64_t seed : test::seeds(60)) {
      test::Random random(seed);
      const BackwardOperands operands = test::random_backward(random, formats.stored());
      const test::BackwardWay way = test::random_way(random);
      const ProblemTensors tensors = test::backward_tensors(
          operands, formats.storage, test::RoundedBackward(operands, formats, way).run());
      const Contract contract = test::backward_contract(operands);
      share = std::max(
          share, std::ranges::max(test::gradient_shares(tensors, contract, *formats.model).worst));
      for (const GradientKind kind : gradient_kinds) {
        const AuditResult result = audit_under(tensors, contract, kind, *formats.model);
        INFO(formats.model->name, ", seed ", seed, ", ", name(kind));
        CHECK(result.tally.violations == 0);
        elements += result.tally.elements;
        undecided += result.tally.undecided;
      }
    }
    fmt::print(
        "healthy backward passes under {}: {} elements, none accused, {} not bounded; the others "
        "use {:.3g} of their bound at most\n",
        formats.model->name, elements, undecided, share);
    CHECK(share < 1);
    // Binary32 inside bounds everything of this size.
    if (formats.inner == &binary32 || formats.inner == &binary64) CHECK(undecided == 0);
  }
}

// Each of these has one coarse step, which no other term of the bound would cover.
TEST_CASE("gradient worst case: coarse weights, and coarse stores of each head, are allowed for") {
  struct Coarse {
    KernelFormats formats;
    const FloatFormat* weights;
    bool heads_stored;
  };
  const Coarse stored_heads{{&f32_model, ElementType::bfloat16, &binary32, false}, &binary32, true};
  const Coarse coarse_weights{
      {&bf16_f32_model, ElementType::binary32, &binary32, false}, &bfloat16, false};
  for (const Coarse& coarse : {stored_heads, coarse_weights}) {
    for (const std::uint64_t seed : test::seeds(60)) {
      test::Random random(seed);
      BackwardOperands operands = test::random_backward(random, coarse.formats.stored());
      // Two heads that nearly cancel: what each is rounded by stays.
      operands.heads = 2;
      operands.grad_lse.clear();
      const auto half = static_cast<std::size_t>(operands.queries * operands.key_size);
      operands.query.resize(2 * half, 0.5);
      std::copy_n(operands.query.begin(), half,
                  operands.query.begin() + static_cast<std::ptrdiff_t>(half));
      const auto grads = static_cast<std::size_t>(operands.queries * operands.value_size);
      operands.grad.resize(2 * grads, 0.5);
      for (std::size_t e = 0; e < grads; ++e) {
        operands.grad[grads + e] =
            test::rounded(coarse.formats.stored(), -operands.grad[e] * (1 + 0x1p-6));
      }
      test::BackwardWay way;
      way.heads_stored = coarse.heads_stored;
      way.weights = coarse.weights;
      const ProblemTensors tensors =
          test::backward_tensors(operands, coarse.formats.storage,
                                 test::RoundedBackward(operands, coarse.formats, way).run());
      for (const GradientKind kind : gradient_kinds) {
        INFO(coarse.formats.model->name, ", seed ", seed, ", ", name(kind));
        CHECK(audit_under(tensors, test::backward_contract(operands), kind, *coarse.formats.model)
                  .tally.violations == 0);
      }
    }
  }
}

TEST_CASE("gradient worst case: a query head left out is proved") {
  for (const KernelFormats& formats : test::kernels_of_all_models()) {
    if (formats.inner != &binary32) continue;
    for (const std::uint64_t seed : test::seeds(10)) {
      INFO(formats.model->name, ", seed ", seed);
      test::Random random(seed);
      BackwardOperands operands;
      operands.heads = 4;
      operands.queries = operands.keys = 24;
      operands.key_size = operands.value_size = 16;
      operands.causal = true;
      const auto draw = [&](std::int64_t count) {
        std::vector<double> values(static_cast<std::size_t>(count));
        for (double& x : values) x = test::rounded(formats.stored(), random.normal());
        return values;
      };
      operands.query = draw(4 * 24 * 16);
      operands.key = draw(24 * 16);
      operands.value = draw(24 * 16);
      operands.grad = draw(4 * 24 * 16);
      // What the kernel reads of one head's grad_output is not what is recorded.
      BackwardOperands faulty = operands;
      for (std::size_t e = 0; e < 24 * 16; ++e) faulty.grad[e] = 0;
      const ProblemTensors tensors = [&] {
        ProblemTensors t = test::backward_tensors(faulty, formats.storage,
                                                  test::RoundedBackward(faulty, formats, {}).run());
        t.grad_output = test::tensor_of(formats.storage, {1, 4, 24, 16}, operands.grad);
        return t;
      }();
      for (const GradientKind kind : gradient_kinds) {
        // With 16-bit weights a random key's part may be as small as what rounding may do.
        if (kind == GradientKind::key && formats.model != &f32_model) continue;
        const AuditResult result =
            audit_under(tensors, test::backward_contract(operands), kind, *formats.model);
        CAPTURE(name(kind));
        CHECK(result.verdict == Verdict::fail);
        CHECK(result.strength == FailureStrength::proved);
      }
    }
  }
}

TEST_CASE("gradient worst case: both rungs know the same bounds, the likely one as well") {
  double likely = 0;
  double worst = 0;
  std::int64_t compared = 0;
  for (const std::uint64_t seed : test::seeds(24)) {
    test::Random random(seed);
    KernelFormats formats = test::kernels_of_all_models()[1 + seed % 5];
    BackwardOperands operands = test::random_backward(random, formats.stored());
    if (random.one_in(3)) {
      // Equal keys and rows.
      for (double& x : operands.key) x = operands.key[0];
      for (double& x : operands.query) x = operands.query[0];
    }
    const ProblemTensors tensors = test::backward_tensors(
        operands, formats.storage, test::RoundedBackward(operands, formats, {}).run());
    const Contract contract = test::backward_contract(operands);
    const AttentionProblem problem = make_problem(tensors, contract);
    PrecisionModel model = *formats.model;
    if (seed % 2 == 0) model.stored_score = model.weight;
    AuditOptions options;
    options.tolerance = ModelTolerance{&model};
    const GradientRule rule{.averaged = random.one_in(4), .scale_missing = random.one_in(4)};
    const GradientAudit audit(problem, tensors, options, rule);
    GradientFilterOptions filter;
    filter.model = &model;
    const HistoryGradients found = gradient_reference(audit.problem(), 0, 0, filter);
    const GradientEnclosure reader(audit.problem(), found.facts, &model,
                                   audit.recorded().formats());
    const auto keys = static_cast<std::size_t>(operands.keys);
    const GradientBounds bounds(audit.problem(), found, model, audit.recorded().formats(),
                                {std::vector<char>(found.rows.size(), 1),
                                 std::vector<char>(keys, 1), std::vector<char>(keys, 1)});
    const auto compare = [&](GradientKind kind, const GradientPart& part, std::size_t r,
                             const std::vector<Enclosed>& row) {
      if (part.open[r] != 0) return;
      for (std::size_t c = 0; c < row.size(); ++c) {
        INFO("seed ", seed, ", ", name(kind), ", row ", r, ", column ", c);
        REQUIRE(row[c].bounds.has_value());
        const auto element = bounds.element(
            kind, r, c, part.radius(r, c), magnitude_interval(part.value(r, c), part.radius(r, c)));
        const Ball& exact_worst = row[c].bounds->worst;
        CHECK(element.is_bounded == exact_worst.is_finite());
        if (!element.is_known) continue;
        ++compared;
        const Ball& exact = row[c].bounds->likely;
        CHECK(exact.lower_double() <= element.likely.upper);
        CHECK(exact.upper_double() >= element.likely.lower);
        // Far within what is allowed for it.
        const double middle = (element.likely.lower + element.likely.upper) / 2;
        likely = std::max(likely, std::abs(middle / exact.midpoint_double() - 1));
        CHECK(part.surely_moved(r, c, model.lambda) <= element.likely.upper);
        if (!element.is_bounded) continue;
        CHECK(exact_worst.lower_double() <= element.worst.upper);
        CHECK(exact_worst.upper_double() >= element.worst.lower);
        CHECK(exact_worst.upper_double() >= exact.lower_double());
        const double centre = (element.worst.lower + element.worst.upper) / 2;
        worst = std::max(worst, std::abs(centre / exact_worst.midpoint_double() - 1));
      }
    };
    for (std::size_t r = 0; r < found.rows.size(); ++r) {
      compare(GradientKind::query, found.query, r, *reader.query_row(r));
    }
    for (std::size_t j = 0; j < keys; ++j) {
      const auto row = reader.key_row(j);
      compare(GradientKind::key, found.key, j, row->key);
      compare(GradientKind::value, found.value, j, row->value);
    }
  }
  fmt::print("both bounds of {} elements in binary64 and in balls: apart by {:.1e} and {:.1e}\n",
             compared, likely, worst);
  CHECK(compared > test::of_all_seeds(10'000));
  CHECK(likely < 2e-4);
  CHECK(worst < 0x1p-13);
}
