// What a pass has shown: outputs that say nothing would have failed under the same allowances.
#include "gqa/audit/decide/null_outputs.hpp"

#include <doctest/doctest.h>

#include "audit/rounded_kernels.hpp"
#include "gqa/audit/audit.hpp"
#include "gqa/audit/model_choice.hpp"
#include "gqa/audit/outputs/present_audit.hpp"

using namespace gqa;
using test::KernelFormats;
using test::RoundedKernel;
using test::RoundedOperands;
using test::Way;

namespace {

RoundedOperands ordinary_operands(const KernelFormats& formats, std::int64_t keys,
                                  std::uint64_t seed, std::int64_t queries = 1) {
  test::Random random(seed);
  RoundedOperands o;
  o.queries = queries;
  o.keys = keys;
  o.key_size = 64;
  o.value_size = 16;
  const auto fill = [&](std::vector<double>& to, std::int64_t count) {
    for (std::int64_t k = 0; k < count; ++k) {
      to.push_back(test::rounded(formats.stored(), random.normal()));
    }
  };
  fill(o.query, queries * o.key_size);
  fill(o.key, keys * o.key_size);
  fill(o.value, keys * o.value_size);
  return o;
}

const KernelFormats& kernel_formats_of(const PrecisionModel& model) {
  static const std::vector<KernelFormats> all = test::kernels_of_all_models();
  for (const KernelFormats& formats : all) {
    if (formats.model == &model) return formats;
  }
  throw std::logic_error("no such kernel");
}

std::vector<double> times(std::vector<double> output, double factor) {
  for (double& x : output) x *= factor;
  return output;
}

AuditResult judged(const AttentionProblem& problem, const Tolerance& tolerance,
                   bool use_filter = true) {
  AuditOptions options;
  options.tolerance = tolerance;
  options.use_filter = use_filter;
  return audit(problem, options);
}

const Tolerance stated_loosely = AbsoluteRelativeTolerance{make_rational(1, 1), 0};

}  // namespace

TEST_CASE("null outputs: a row refutes what its largest element is far enough from") {
  NullRow row;
  row.add(0, 0.25);
  CHECK_FALSE(row.counts());  // zero may be right there
  row.add(1, 1.5);
  NullCounts counts;
  row.add_to(counts);
  CHECK(counts.rows == 1);
  CHECK(counts.refuted_in(NullOutput::zeros) == 0);
  CHECK(counts.refuted_in(NullOutput::negated) == 1);
  CHECK(counts.refuted_in(NullOutput::doubled) == 0);
  CHECK(counts.shows_nothing());
  row.add(3, 1.25);
  row.add_to(counts);
  CHECK(counts.rows == 2);
  CHECK(counts.refuted_in(NullOutput::zeros) == 1);
  CHECK(counts.refuted_in(NullOutput::halved) == 1);
  CHECK_FALSE(counts.shows_nothing());
}

TEST_CASE("null outputs: halved alone shows less, not nothing; nothing known refutes nothing") {
  NullRow row;
  row.add(1, 0.75);
  NullCounts counts;
  row.add_to(counts);
  CHECK(counts.passing() == std::vector{NullOutput::halved});
  CHECK_FALSE(counts.shows_nothing());
  NullRow open;
  open.add(1, std::numeric_limits<double>::infinity());
  open.add(1, std::numeric_limits<double>::quiet_NaN());
  open.add(std::numeric_limits<double>::quiet_NaN(), 0);
  NullCounts none;
  open.add_to(none);
  CHECK(none.passing().size() == null_outputs.size());
}

TEST_CASE("null outputs: zeros, negated and doubled outputs fail by default at every length") {
  for (const PrecisionModel* model : {&f32_model, &f16_f32_model, &bf16_f32_model}) {
    const KernelFormats& formats = kernel_formats_of(*model);
    for (const std::int64_t keys : {16, 300, 1024, 4096}) {
      const RoundedOperands o = ordinary_operands(formats, keys, 3);
      const std::vector<double> right = RoundedKernel(o, formats, Way::tiles).run();
      CAPTURE(model->name);
      CAPTURE(keys);
      const OutputAudit healthy =
          audit_with_candidates(to_problem(o, formats, right), {}, {}).front();
      CHECK(healthy.result.verdict == Verdict::pass);
      CHECK(healthy.result.tally.nulls.rows == 1);
      CHECK(healthy.result.tally.nulls.passing().empty());
      for (const double factor : {0.0, -1.0, 2.0, 0.5}) {
        CAPTURE(factor);
        const AttentionProblem problem = to_problem(o, formats, times(right, factor));
        CHECK(audit_with_candidates(problem, {}, {}).front().result.verdict == Verdict::fail);
      }
    }
  }
}

TEST_CASE("null outputs: a named model whose bound exceeds the output passes nothing") {
  // A running sum of 16 bits may stall anywhere from some 250 keys on.
  const KernelFormats& formats = kernel_formats_of(bf16_model);
  const RoundedOperands o = ordinary_operands(formats, 600, 4);
  const std::vector<double> right =
      RoundedKernel(o, kernel_formats_of(bf16_f32_model), Way::tiles).run();
  for (const double factor : {1.0, 0.0, 2.0}) {
    for (const bool use_filter : {true, false}) {
      const AttentionProblem problem = to_problem(o, formats, times(right, factor));
      const AuditResult result = judged(problem, ModelTolerance{&bf16_model}, use_filter);
      CAPTURE(factor);
      CHECK(result.verdict == Verdict::undecided);
      CHECK(result.shows_nothing);
      CHECK(result.tally.violations == 0);
      CHECK(result.tally.nulls.refuted_in(NullOutput::zeros) == 0);
    }
  }
}

TEST_CASE("null outputs: under a stated tolerance they are a finding and change no verdict") {
  const KernelFormats& formats = kernel_formats_of(f32_model);
  const RoundedOperands o = ordinary_operands(formats, 100, 5, 3);
  const std::vector<double> right = RoundedKernel(o, formats, Way::tiles).run();
  const AuditResult result = judged(to_problem(o, formats, right), stated_loosely);
  CHECK(result.verdict == Verdict::pass);
  CHECK(result.shows_nothing);
  CHECK(result.tally.nulls.rows == 3);
  const AuditResult tight =
      judged(to_problem(o, formats, right), AbsoluteRelativeTolerance{make_rational(1, 10000), 0});
  CHECK(tight.verdict == Verdict::pass);
  CHECK_FALSE(tight.shows_nothing);
  CHECK(tight.tally.nulls.refuted_in(NullOutput::zeros) == 3);
}

TEST_CASE("null outputs: where the right output is zero they do not count") {
  const KernelFormats& formats = kernel_formats_of(f32_model);
  RoundedOperands o = ordinary_operands(formats, 40, 6);
  std::ranges::fill(o.value, 0.0);
  const std::vector<double> zeros(16, 0.0);
  for (const bool use_filter : {true, false}) {
    const AuditResult result =
        judged(to_problem(o, formats, zeros), ModelTolerance{&f32_model}, use_filter);
    CHECK(result.verdict == Verdict::pass);
    CHECK(result.tally.nulls.rows == 0);
  }
}

TEST_CASE("null outputs: with and without the filter no row is refuted that is not") {
  for (const std::uint64_t seed : test::seeds(20)) {
    test::Random random(seed);
    const auto& formats =
        kernel_formats_of(*random.pick({&f32_model, &f16_f32_model, &bf16_f32_model}));
    const RoundedOperands o = ordinary_operands(formats, random.integer(1, 80), seed, 2);
    const AttentionProblem problem =
        to_problem(o, formats, RoundedKernel(o, formats, Way::one_pass).run());
    const Tolerance tolerance =
        random.one_in(2) ? Tolerance(ModelTolerance{formats.model})
                         : AbsoluteRelativeTolerance{power_of_two(random.integer(-9, 0)), 0};
    const NullCounts fast = judged(problem, tolerance).tally.nulls;
    const NullCounts slow = judged(problem, tolerance, false).tally.nulls;
    CAPTURE(seed);
    CHECK(fast.rows == slow.rows);
    for (const NullOutput null : null_outputs)
      CHECK(fast.refuted_in(null) <= slow.refuted_in(null));
    // Whether anything is refuted at all decides the verdict: there both agree.
    CHECK(fast.shows_nothing() == slow.shows_nothing());
  }
}
