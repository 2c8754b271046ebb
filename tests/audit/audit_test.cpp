#include "gqa/audit/audit.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "audit/audit_support.hpp"
#include "support/errors.hpp"
#include "support/numbers.hpp"

using namespace gqa;
using gqa::test::equal_scores;
using gqa::test::infinity;
using gqa::test::not_a_number;
using gqa::test::SmallProblem;

namespace {

const Tolerance loose = AbsoluteRelativeTolerance{1000000, 0};

double next_float(double value, double towards) {
  return static_cast<double>(
      std::nextafter(static_cast<float>(value), static_cast<float>(towards)));
}

// Causal from the bottom right with more queries than keys: row 0 sees nothing.
SmallProblem empty_first_row(double first, EmptyRow policy) {
  SmallProblem p;
  p.queries = 2;
  p.query = {1, 1};
  p.key = {1};
  p.value = {3};
  p.output = {first, 3};
  p.contract.causal = true;
  p.contract.empty_row = policy;
  return p;
}

}  // namespace

TEST_CASE("audit: equal scores with the exact output pass, decided exactly at tolerance zero") {
  const AuditResult result = equal_scores().audit();
  CHECK(result.verdict == Verdict::pass);
  CHECK(result.strength == FailureStrength::none);
  CHECK(result.tally.elements == 2);
  CHECK(result.tally.decided_exactly == 2);
  CHECK(result.where.empty());
}

TEST_CASE("audit: an output exactly at atol passes, one ulp beyond fails") {
  const Tolerance atol = AbsoluteRelativeTolerance{make_rational(1, 8), 0};
  for (const double sign : {1.0, -1.0}) {
    SmallProblem p = equal_scores();
    p.output = {2 + sign / 8, 4 - sign / 8};
    CHECK(p.audit(atol).verdict == Verdict::pass);
    CHECK(p.audit(atol).tally.decided_exactly == 2);
    p.output[1] = next_float(p.output[1], sign > 0 ? 0 : 8);
    const AuditResult result = p.audit(atol);
    CHECK(result.verdict == Verdict::fail);
    CHECK(result.strength == FailureStrength::proved);
    CHECK(result.tally.violations == 1);
    CHECK(result.where == "1 of 2 elements in batch 0, every query head; column 1");
  }
}

TEST_CASE("audit: an output exactly N ulp away passes N and fails below N") {
  SmallProblem p = equal_scores();
  p.output = {2 + 0x1.8p-21, 4};  // ulp(2) = 2^-22 in binary32: 3 ulp
  CHECK(p.audit(UlpTolerance{3}).verdict == Verdict::pass);
  CHECK(p.audit(UlpTolerance{3}).tally.decided_exactly >= 1);
  CHECK(p.audit(UlpTolerance{make_rational(299, 100)}).verdict == Verdict::fail);
  CHECK(p.audit(UlpTolerance{3}).tally.max_ulp_error.upper == 3);
}

TEST_CASE("audit: an irrational output is never decided exactly") {
  SmallProblem p;
  p.keys = 2;
  p.query = {1};
  p.key = {1, 0};
  p.value = {1, 0};
  p.output = {0.731058578630005};
  p.type = ElementType::binary64;
  const AuditResult result = p.audit(AbsoluteRelativeTolerance{power_of_two(-30), 0});
  CHECK(result.verdict == Verdict::pass);
  CHECK(result.tally.decided_exactly == 0);
  CHECK(result.tally.decided_by_filter + result.tally.decided_by_enclosure == 1);
  CHECK(result.tally.worst[0].reference.lower <= 0.7310585786300049);
  CHECK(result.tally.worst[0].reference.upper >= 0.7310585786300048);
}

TEST_CASE("audit: a tolerance within 2^-300 of an irrational error is decided by more bits") {
  SmallProblem p;
  p.keys = 2;
  p.query = {1};
  p.key = {1, 0};
  p.value = {1, 0};
  p.output = {0.5};
  const Rational error = [] {
    const PrecisionScope precision(600);
    return Rational((exp(Ball(1)) / (exp(Ball(1)) + Ball(1)) - Ball(0.5)).lower());
  }();
  const Rational gap = power_of_two(-300);
  CHECK(p.audit(AbsoluteRelativeTolerance{error + gap, 0}).verdict == Verdict::pass);
  CHECK(p.audit(AbsoluteRelativeTolerance{error - gap, 0}).verdict == Verdict::fail);
}

TEST_CASE("audit: NaN and infinite outputs fail under every tolerance") {
  for (const double poison : {not_a_number, infinity, -infinity}) {
    SmallProblem p = equal_scores();
    p.output[0] = poison;
    for (const Tolerance& tolerance : {loose, Tolerance(UlpTolerance{power_of_two(500)}),
                                       Tolerance(ModelTolerance{&f32_model, false}),
                                       Tolerance(ModelTolerance{&f32_model, true})}) {
      const AuditResult result = p.audit(tolerance);
      CAPTURE(poison);
      CHECK(result.verdict == Verdict::fail);
      CHECK(result.strength == FailureStrength::proved);
      CHECK(result.tally.violations == 1);
      CHECK(result.tally.measured == 1);
    }
  }
}

TEST_CASE("audit: an empty row must hold what the policy says, to the bit") {
  struct Line {
    EmptyRow policy;
    double output;
    Verdict expected;
  };
  for (const Line& line :
       {Line{EmptyRow::zero, 0.0, Verdict::pass}, Line{EmptyRow::zero, -0.0, Verdict::pass},
        Line{EmptyRow::zero, 0x1p-149, Verdict::fail},
        Line{EmptyRow::zero, not_a_number, Verdict::fail},
        Line{EmptyRow::nan, not_a_number, Verdict::pass}, Line{EmptyRow::nan, 0.0, Verdict::fail},
        Line{EmptyRow::nan, infinity, Verdict::fail},
        Line{EmptyRow::any, not_a_number, Verdict::pass}, Line{EmptyRow::any, 17.0, Verdict::pass},
        Line{EmptyRow::any, infinity, Verdict::pass}}) {
    CAPTURE(name(line.policy));
    CAPTURE(line.output);
    // A loose tolerance does not soften the policy.
    CHECK(empty_first_row(line.output, line.policy).audit(loose).verdict == line.expected);
  }
}

TEST_CASE("audit: a sink makes an empty row a true zero, whatever the policy") {
  for (const EmptyRow policy : {EmptyRow::zero, EmptyRow::nan, EmptyRow::any}) {
    SmallProblem p = empty_first_row(0, policy);
    p.sink = {0};
    p.value = {0};
    p.output = {0, 0};
    CAPTURE(name(policy));
    CHECK(p.audit().verdict == Verdict::pass);
    p.output = {1, 0};
    CHECK(p.audit(loose).verdict == Verdict::fail);
    p.output = {not_a_number, 0};
    CHECK(p.audit(loose).verdict == Verdict::fail);
  }
}

TEST_CASE("audit: a visible operand that is not finite leaves the row undecided, never passed") {
  for (const double poison : {not_a_number, infinity, -infinity}) {
    CAPTURE(poison);
    const auto verdict = [&](auto place) {
      SmallProblem p = equal_scores();
      place(p);
      const AuditResult result = p.audit(loose);
      CHECK(result.tally.not_finite_references == 2);
      CHECK(result.tally.undecided == 2);
      return result.verdict;
    };
    CHECK(verdict([&](SmallProblem& p) { p.query[1] = poison; }) == Verdict::undecided);
    CHECK(verdict([&](SmallProblem& p) { p.key[4] = poison; }) == Verdict::undecided);
    CHECK(verdict([&](SmallProblem& p) { p.value[0] = poison; }) == Verdict::undecided);
    if (std::isnan(poison)) continue;
    if (poison > 0) {
      CHECK(verdict([&](SmallProblem& p) { p.sink = {poison}; }) == Verdict::undecided);
    }
    CHECK(verdict([&](SmallProblem& p) { p.slopes = {poison}; }) == Verdict::undecided);
  }
  SmallProblem p = equal_scores();
  p.mask = {0, infinity, 0};
  CHECK(p.audit(loose).verdict == Verdict::undecided);
  p.mask = {0, not_a_number, 0};
  CHECK(p.audit(loose).verdict == Verdict::undecided);
}

TEST_CASE("audit: a sink of minus infinity adds nothing to the denominator") {
  SmallProblem p = equal_scores();
  p.sink = {-infinity};
  CHECK(p.audit().verdict == Verdict::pass);
  p.mask = {-infinity, -infinity, -infinity};
  p.contract.empty_row = EmptyRow::nan;
  p.output = {not_a_number, not_a_number};
  CHECK(p.audit().verdict == Verdict::pass);
}

TEST_CASE("audit: an operand that is not finite has no effect where it is invisible") {
  for (const double poison : {not_a_number, infinity, -infinity}) {
    SmallProblem p = equal_scores();
    p.length = {1};
    for (std::size_t t = 3; t < 9; ++t) p.key[t] = poison;
    for (std::size_t t = 2; t < 6; ++t) p.value[t] = poison;
    p.output = {6, 0};
    CHECK(p.audit().verdict == Verdict::pass);
    p.length.clear();
    p.mask = {0, -infinity, -infinity};
    CHECK(p.audit().verdict == Verdict::pass);
  }
}

TEST_CASE("audit: binary64 scores beyond binary64's range are still decided") {
  SmallProblem p;
  p.type = ElementType::binary64;
  p.keys = 2;
  p.query = {1e200};
  p.key = {1e200, 1e199};
  p.value = {1, 3};
  p.output = {1};
  CHECK(p.audit(AbsoluteRelativeTolerance{power_of_two(-40), 0}).verdict == Verdict::pass);
  p.output = {3};
  CHECK(p.audit(AbsoluteRelativeTolerance{power_of_two(-40), 0}).verdict == Verdict::fail);
}

TEST_CASE("audit: a tie under a softcap stays undecided at the precision limit") {
  SmallProblem p = equal_scores();
  p.query = {1, 0, 0};
  p.key = {1, 0, 0, 1, 0, 0, 1, 0, 0};
  p.contract.softcap = 3;
  const AuditResult result = p.audit();
  CHECK(result.verdict == Verdict::undecided);
  CHECK(result.tally.undecided == 2);
  CHECK(p.audit(AbsoluteRelativeTolerance{power_of_two(-100), 0}).verdict == Verdict::pass);
}

TEST_CASE("audit: every rule of the contract changes the verdict where it matters") {
  // Scores 0 and values 0, 3, 6: means tell how many keys were seen.
  SmallProblem p;
  p.queries = 2;
  p.keys = 3;
  p.query = {0, 0};
  p.key = {0, 0, 0};
  p.value = {0, 3, 6};
  const auto passes = [&](std::vector<double> output) {
    p.output = std::move(output);
    return p.audit().verdict == Verdict::pass;
  };
  CHECK(passes({3, 3}));
  p.contract.causal = true;
  CHECK(passes({1.5, 3}));
  CHECK_FALSE(passes({3, 3}));
  p.contract.causal_alignment = CausalAlignment::top_left;
  CHECK(passes({0, 1.5}));
  p.contract.window = {0, -1};
  CHECK(passes({0, 3}));
  p.contract.causal = false;
  p.contract.window = {-1, 1};
  CHECK(passes({1.5, 3}));
}

TEST_CASE("audit: bias, slopes and sinks enter the reference") {
  SmallProblem p;
  p.keys = 2;
  p.type = ElementType::binary64;
  p.query = {0};
  p.key = {0, 0};
  p.value = {1, 0};
  const Tolerance close = AbsoluteRelativeTolerance{power_of_two(-45), 0};
  const auto passes = [&](double output) {
    p.output = {output};
    return p.audit(close).verdict == Verdict::pass;
  };
  p.mask = {1, 0};
  CHECK(passes(1 / (1 + std::exp(-1.0))));
  p.mask.clear();
  p.slopes = {0.5};  // row 0 is at position 1: scores -0.5 and 0
  CHECK(passes(1 / (1 + std::exp(0.5))));
  p.sink = {2};
  CHECK(passes(std::exp(-0.5) / (std::exp(-0.5) + 1 + std::exp(2.0))));
  p.slopes.clear();
  p.sink = {0};
  p.output = {0.333251953125};
  CHECK(p.audit(close).verdict == Verdict::fail);
  // 1/3 is rational: the tie is decided exactly.
  p.output = {0.5};
  CHECK(p.audit(AbsoluteRelativeTolerance{make_rational(1, 6), 0}).tally.decided_exactly == 1);
}

TEST_CASE("audit: without output, or without an element of it, there is nothing to pass") {
  SmallProblem p = equal_scores();
  AttentionProblem problem = p.problem();
  problem.output.reset();
  AuditOptions options;
  CHECK(test::refusal_of([&] { audit(problem, options); }) == "contract.missing_tensor at output");
  SmallProblem none = equal_scores();
  none.queries = 0;
  none.query.clear();
  none.output.clear();
  CHECK(test::refusal_of([&] { none.audit(); }).starts_with("audit.nothing_to_audit at "));
}

TEST_CASE("audit: progress ends at the number of rows and never goes back") {
  SmallProblem p;
  p.queries = 100;
  p.query.assign(100, 0.0);
  p.key = p.value = {1};
  p.output.assign(100, 1.0);
  AuditOptions options;
  options.tolerance = AbsoluteRelativeTolerance{};
  std::int64_t last = 0;
  bool rising = true;
  options.progress = [&](std::int64_t rows) {
    rising = rising && rows > last;
    last = rows;
  };
  CHECK(audit(p.problem(), options).verdict == Verdict::pass);
  CHECK(rising);
  CHECK(last == 100);
}
