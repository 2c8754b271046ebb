// The likely bound of gradients: its formula, healthy kernels within it, and faults beyond it.
#include "gqa/audit/gradients/gradient_likely.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "audit/backward_kernels.hpp"
#include "audit/gradient_shares.hpp"
#include "audit/gradient_twin.hpp"

using namespace gqa;
using test::BackwardInputs;
using test::BackwardKernel;
using test::BackwardOperands;
using test::BackwardResult;
using test::BackwardRun;
using test::HeadParts;
using test::Summation;

namespace {

const std::vector<BackwardKernel>& healthy_kernels() {
  static const std::vector<BackwardKernel> all{{ElementType::bfloat16, false},
                                               {ElementType::binary16, false},
                                               {ElementType::binary32, false},
                                               {ElementType::bfloat16, true},
                                               {ElementType::binary16, true}};
  return all;
}

std::string words_of(const BackwardKernel& kernel) {
  return fmt::format("{} {}", name(kernel.storage), kernel.eager ? "eager" : "flash");
}

test::BackwardOperands drawn_backward(test::Random& random, const BackwardKernel& kernel,
                                      BackwardInputs inputs, std::int64_t largest) {
  const std::int64_t queries = std::min(largest, random.pick<std::int64_t>({1, 7, 16, 33}));
  const bool causal = random.one_in(2);
  std::int64_t keys = std::min(largest, random.pick<std::int64_t>({1, 7, 16, 40}));
  if (causal) keys = std::max(keys, queries);
  return draw_backward(random, inputs, *float_format(kernel.storage),
                       random.pick<std::int64_t>({1, 3}), queries, keys,
                       random.pick<std::int64_t>({4, 16}), random.pick({1.0, 1e-4}), causal);
}

// Both KV heads of a problem in one recording.
ProblemTensors two_histories(const BackwardOperands& a, const BackwardOperands& b,
                             const BackwardResult& ra, const BackwardResult& rb, ElementType type) {
  const auto joined = [&](std::int64_t heads, std::int64_t rows, std::int64_t width,
                          const std::vector<double>& x, const std::vector<double>& y) {
    std::vector<double> all = x;
    all.insert(all.end(), y.begin(), y.end());
    return test::tensor_of(type, {1, heads, rows, width}, all);
  };
  ProblemTensors t;
  t.query = joined(2 * a.heads, a.queries, a.key_size, a.query, b.query);
  t.key = joined(2, a.keys, a.key_size, a.key, b.key);
  t.value = joined(2, a.keys, a.value_size, a.value, b.value);
  t.grad_output = joined(2 * a.heads, a.queries, a.value_size, a.grad, b.grad);
  if (!a.grad_lse.empty() || !b.grad_lse.empty()) {
    std::vector<double> lse(static_cast<std::size_t>(2 * a.heads * a.queries), 0);
    std::ranges::copy(a.grad_lse, lse.begin());
    std::ranges::copy(b.grad_lse, lse.begin() + a.heads * a.queries);
    t.grad_lse = test::tensor_of(ElementType::binary32, {1, 2 * a.heads, a.queries}, lse);
  }
  t.grad_query = joined(2 * a.heads, a.queries, a.key_size, ra.query, rb.query);
  t.grad_key = joined(2, a.keys, a.key_size, ra.key, rb.key);
  t.grad_value = joined(2, a.keys, a.value_size, ra.value, rb.value);
  return t;
}

std::vector<AuditResult> gradient_results(const ProblemTensors& tensors, const Contract& contract,
                                          const PrecisionModel& model) {
  AuditOptions options;
  options.tolerance = ModelTolerance{&model};
  std::vector<AuditResult> found;
  for (const GradientKind kind : gradient_kinds) {
    found.push_back(test::audit_gradient(tensors, contract, kind, options));
  }
  return found;
}

std::array<Verdict, 3> gradient_verdicts(const ProblemTensors& tensors, const Contract& contract,
                                         const PrecisionModel& model) {
  const std::vector<AuditResult> results = gradient_results(tensors, contract, model);
  return {results[0].verdict, results[1].verdict, results[2].verdict};
}

// Equal keys get equal values and, as equal rows do, equal gradients.
void repeat_values(BackwardOperands& o) {
  const auto width = static_cast<std::size_t>(o.key_size);
  const auto repeat = [width](const std::vector<double>& by, std::vector<double>& values) {
    for (std::size_t j = width; j < by.size(); j += width) {
      for (std::size_t first = 0; first < j; first += width) {
        if (!std::equal(by.begin() + static_cast<std::ptrdiff_t>(first),
                        by.begin() + static_cast<std::ptrdiff_t>(first + width),
                        by.begin() + static_cast<std::ptrdiff_t>(j))) {
          continue;
        }
        std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(first), width,
                    values.begin() + static_cast<std::ptrdiff_t>(j));
        break;
      }
    }
  };
  repeat(o.key, o.value);
  repeat(o.query, o.grad);
}

}  // namespace

TEST_CASE("gradient likely bound: a replayed rounding is the rounding, but next to a tie") {
  test::Random random(1);
  for (int i = 0; i < 20'000; ++i) {
    const FloatFormat& format = random.one_in(2) ? bfloat16 : binary16;
    const double tiny = &format == &binary16 ? 0x1p-25 : 0x1p-126;
    const double y = random.normal() * std::ldexp(1.0, static_cast<int>(random.integer(-30, 3)));
    const double exact = test::rounded(format, y) - y;
    const Replay<double> found = replayed_rounding(y, format.unit_roundoff(), tiny);
    CAPTURE(y);
    const double slack = 1e-12 * std::abs(y);
    CHECK(std::abs(std::abs(found.moved) + found.undecided - std::abs(exact)) <= slack);
    if (found.undecided == 0) CHECK(std::abs(found.moved - exact) <= slack);
    const Replay<Ball> ball = replayed_rounding(Ball(y), format.unit_roundoff(), tiny);
    CHECK(ball.moved.contains(Rational(found.moved)));
    CHECK(ball.undecided.contains(Rational(found.undecided)));
  }
  // A tie: half a spacing, either way. 1 + 2^-8 lies between 1 and 1 + 2^-7 in bfloat16.
  CHECK(replayed_rounding(1 + 0x1p-8, 0x1p-8, 0).moved == 0);
  CHECK(replayed_rounding(1 + 0x1p-8, 0x1p-8, 0).undecided == 0x1p-8);
  // A ball about it holds both sides.
  const Ball around = Ball::with_radius(1 + 0x1p-8, 0x1p-30);
  CHECK(replayed_rounding(around, 0x1p-8, 0).moved.contains(0));
}

TEST_CASE("gradient likely bound: what is lost below a limit is a continuous number") {
  CHECK(lost_below(0.25, 1.0, 2.0) == 0.25);
  CHECK(lost_below(1.0, 1.0, 2.0) == 1.0);
  CHECK(lost_below(2.0, 1.0, 2.0) == 1.0);
  CHECK(lost_below(2.0625, 1.0, 2.0) == 0.5);
  CHECK(lost_below(2.125, 1.0, 2.0) == 0.0);
  CHECK(lost_below(5.0, 1.0, 2.0) == 0.0);
  CHECK(lost_below(0.0, 0.0, 0.0) == 0.0);
}

TEST_CASE("gradient likely bound: its formula, written out a second time, gives the same") {
  double apart = 0;
  std::int64_t compared = 0;
  for (const std::uint64_t seed : test::seeds(110)) {
    test::Random random(seed);
    const BackwardKernel& kernel = healthy_kernels()[seed % 5];
    const auto inputs = static_cast<BackwardInputs>(random.integer(0, 10));
    const BackwardOperands o = drawn_backward(random, kernel, inputs, 16);
    PrecisionModel model = model_of(kernel);
    // Terms that are small under the presets.
    if (random.one_in(3)) model.accumulation = 0x1p-9;
    if (random.one_in(3)) model.denominator = 0x1p-8;
    if (random.one_in(3)) model.exponential = 0x1p-10;
    if (random.one_in(3)) model.score = 0x1p-10;
    if (random.one_in(3)) model.inner_underflow = 1e-6;
    const ProblemTensors tensors =
        test::backward_tensors(o, kernel.storage, BackwardRun(o, kernel).run());
    const AttentionProblem problem = make_problem(tensors, test::backward_contract(o));
    AuditOptions options;
    options.tolerance = ModelTolerance{&model};
    const GradientAudit audit(problem, tensors, options);
    GradientFilterOptions filter;
    filter.model = &model;
    const HistoryGradients found = gradient_reference(audit.problem(), 0, 0, filter);
    const auto keys = static_cast<std::size_t>(o.keys);
    const GradientBounds bounds(audit.problem(), found, model, audit.recorded().formats(),
                                {std::vector<char>(found.rows.size(), 1),
                                 std::vector<char>(keys, 1), std::vector<char>(keys, 1)});
    const FloatFormat& format = *float_format(kernel.storage);
    const test::LikelyTwin twin =
        test::GradientTwin(o, model, format.unit_roundoff(), underflow_error(format)).run();
    const auto compare = [&](GradientKind kind, const std::vector<double>& expected) {
      const GradientPart& part =
          *std::array{&found.query, &found.key, &found.value}[static_cast<std::size_t>(kind)];
      const std::size_t width = part.column.size();
      for (std::size_t e = 0; e < expected.size(); ++e) {
        const double moved = bounds.likely_moved(kind, e / width, e % width);
        CAPTURE(seed);
        CAPTURE(words_of(kernel));
        CAPTURE(name(kind));
        CAPTURE(static_cast<int>(inputs));
        CAPTURE(e);
        CHECK(std::abs(moved - expected[e]) <= 1e-6 * expected[e]);
        if (expected[e] > 0) apart = std::max(apart, std::abs(moved / expected[e] - 1));
        ++compared;
      }
    };
    compare(GradientKind::query, twin.query);
    compare(GradientKind::key, twin.key);
    compare(GradientKind::value, twin.value);
  }
  fmt::print("likely bounds of {} elements and of their twins: apart by {:.1e}\n", compared, apart);
  CHECK(compared > test::of_all_seeds(20'000));
}

TEST_CASE("gradient likely bound: healthy kernels of all kinds are within, and nothing is open") {
  double largest = 0;
  int judged = 0;
  int gradients = 0;
  int without_power = 0;
  std::int64_t elements = 0;
  for (const std::uint64_t seed : test::seeds(165)) {
    test::Random random(seed);
    BackwardKernel kernel = healthy_kernels()[seed % 5];
    kernel.online = random.one_in(2);
    kernel.sums = random.pick({Summation::sequential, Summation::lanes, Summation::tiles});
    kernel.parts = random.pick({HeadParts::together, HeadParts::stored, HeadParts::running_sum});
    const auto inputs = static_cast<BackwardInputs>(seed / 5 % 11);
    const BackwardOperands o = drawn_backward(random, kernel, inputs, 40);
    const ProblemTensors tensors =
        test::backward_tensors(o, kernel.storage, BackwardRun(o, kernel).run());
    const PrecisionModel model = model_of(kernel);
    const test::GradientShares shares =
        test::gradient_shares(tensors, test::backward_contract(o), model);
    CAPTURE(seed);
    CAPTURE(words_of(kernel));
    CAPTURE(static_cast<int>(inputs));
    for (const double share : shares.allowed) {
      CHECK(share <= 1);
      largest = std::max(largest, share);
    }
    elements += shares.elements;
    // Every kernel on every kind of inputs once.
    if (judged >= 55) continue;
    ++judged;
    for (const AuditResult& result : gradient_results(tensors, test::backward_contract(o), model)) {
      // Beside a sink a gradient may be no larger than what a healthy kernel errs.
      CHECK((result.verdict == Verdict::pass || result.shows_nothing));
      CHECK(result.tally.undecided == 0);
      ++gradients;
      if (result.verdict != Verdict::pass) ++without_power;
    }
  }
  fmt::print("healthy backward passes: {} elements, at most {:.3f} of what is allowed\n", elements,
             largest);
  // Under a tenth, and those with queries that see one key most of all.
  CAPTURE(without_power);
  CHECK(10 * without_power < gradients);
}

// What is equal rounds alike, as often as it is there: repeated tokens, and derivatives that are
// all grad_lse.
TEST_CASE("gradient likely bound: equal keys and equal rows of fused kernels round alike") {
  double largest = 0;
  for (const std::uint64_t seed : test::seeds(400)) {
    test::Random random(seed);
    BackwardKernel kernel{random.one_in(2) ? ElementType::bfloat16 : ElementType::binary16, false};
    kernel.online = random.one_in(2);
    kernel.sums = random.pick({Summation::sequential, Summation::lanes, Summation::tiles});
    BackwardOperands o =
        draw_backward(random, random.pick({BackwardInputs::few_keys, BackwardInputs::few_rows}),
                      *float_format(kernel.storage), 1, 8, random.pick<std::int64_t>({40, 64, 96}),
                      64, random.pick({1.0, 1e-4}), random.one_in(2));
    if (random.one_in(2)) repeat_values(o);
    if (random.one_in(2)) test::draw_grad_lse(random, o);
    const ProblemTensors tensors =
        test::backward_tensors(o, kernel.storage, BackwardRun(o, kernel).run());
    const test::GradientShares shares =
        test::gradient_shares(tensors, test::backward_contract(o), model_of(kernel));
    CAPTURE(seed);
    CAPTURE(words_of(kernel));
    for (const double share : shares.allowed) {
      CHECK(share <= 1);
      largest = std::max(largest, share);
    }
  }
  fmt::print("fused kernels with equal keys: at most {:.3f} of what is allowed\n", largest);
}

TEST_CASE("gradient likely bound: the gross faults of a backward pass are refuted") {
  for (const BackwardKernel& kernel : healthy_kernels()) {
    CAPTURE(words_of(kernel));
    test::Random random(7);
    const FloatFormat& format = *float_format(kernel.storage);
    const auto draw = [&] {
      return draw_backward(random, BackwardInputs::normal, format, 2, 24, 24, 16, 1, true);
    };
    const BackwardOperands a = draw();
    const BackwardOperands b = draw();
    const BackwardResult ra = BackwardRun(a, kernel).run();
    const BackwardResult rb = BackwardRun(b, kernel).run();
    const PrecisionModel model = model_of(kernel);
    const Contract contract = test::backward_contract(a);
    using Three = std::array<Verdict, 3>;
    constexpr Verdict pass = Verdict::pass;
    constexpr Verdict fail = Verdict::fail;
    const auto judged = [&](const BackwardResult& x, const BackwardResult& y) {
      return gradient_verdicts(two_histories(a, b, x, y, kernel.storage), contract, model);
    };
    CHECK(judged(ra, rb) == Three{pass, pass, pass});
    // dK and dV of two KV heads exchanged.
    CHECK(judged({ra.query, rb.key, rb.value}, {rb.query, ra.key, ra.value}) ==
          Three{pass, fail, fail});
    for (const double factor : {0.0, -1.0, 2.0, 0.5}) {
      CAPTURE(factor);
      const auto times = [&](std::vector<double> x) {
        for (double& one : x) one *= factor;
        return x;
      };
      CHECK(judged({times(ra.query), ra.key, ra.value}, {times(rb.query), rb.key, rb.value}) ==
            Three{fail, pass, pass});
      CHECK(judged({ra.query, times(ra.key), ra.value}, {rb.query, times(rb.key), rb.value}) ==
            Three{pass, fail, pass});
      CHECK(judged({ra.query, ra.key, times(ra.value)}, {rb.query, rb.key, times(rb.value)}) ==
            Three{pass, pass, fail});
    }
    BackwardKernel dropped = kernel;
    dropped.delta_dropped = true;
    CHECK(judged(BackwardRun(a, dropped).run(), BackwardRun(b, dropped).run()) ==
          Three{fail, fail, pass});
    // The corner of the causal mask in the backward pass alone: every row sees one key more.
    BackwardOperands open = a;
    open.causal = false;
    CHECK(judged(BackwardRun(open, kernel).run(), rb) == Three{fail, fail, fail});
    // The scale twice.
    const double scale = 1 / std::sqrt(static_cast<double>(a.key_size));
    const auto scaled = [&](std::vector<double> x) {
      for (double& one : x) one = test::rounded(format, one * scale);
      return x;
    };
    CHECK(judged({scaled(ra.query), scaled(ra.key), ra.value},
                 {scaled(rb.query), scaled(rb.key), rb.value}) == Three{fail, fail, pass});
  }
}

TEST_CASE("gradient likely bound: the query heads of another KV head's group are refuted") {
  // Tiled instead of consecutive groups, in dK and dV alone: heads 0 and 2 for 0 and 1.
  for (const BackwardKernel& kernel : healthy_kernels()) {
    CAPTURE(words_of(kernel));
    test::Random random(8);
    const FloatFormat& format = *float_format(kernel.storage);
    const auto draw = [&](std::int64_t heads) {
      return draw_backward(random, BackwardInputs::normal, format, heads, 32, 32, 16, 1, true);
    };
    const BackwardOperands a = draw(2);
    const BackwardOperands b = draw(2);
    BackwardOperands mixed_a = a;
    BackwardOperands mixed_b = b;
    const auto half = static_cast<std::ptrdiff_t>(a.query.size() / 2);
    for (auto [to, from] : {std::pair{&mixed_a.query, &b.query}, {&mixed_a.grad, &b.grad}}) {
      std::copy(from->begin(), from->begin() + half, to->begin() + half);
    }
    for (auto [to, from] : {std::pair{&mixed_b.query, &a.query}, {&mixed_b.grad, &a.grad}}) {
      std::copy(from->begin() + half, from->end(), to->begin());
    }
    const BackwardResult ra = BackwardRun(a, kernel).run();
    const BackwardResult rb = BackwardRun(b, kernel).run();
    const BackwardResult ma = BackwardRun(mixed_a, kernel).run();
    const BackwardResult mb = BackwardRun(mixed_b, kernel).run();
    CHECK(gradient_verdicts(two_histories(a, b, {ra.query, ma.key, ma.value},
                                          {rb.query, mb.key, mb.value}, kernel.storage),
                            test::backward_contract(a), model_of(kernel)) ==
          std::array{Verdict::pass, Verdict::fail, Verdict::fail});
  }
}
