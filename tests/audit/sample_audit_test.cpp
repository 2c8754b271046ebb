// A sample audits the chosen rows of every output, and nothing else.
#include <doctest/doctest.h>

#include <set>

#include "audit/outputs_support.hpp"
#include "gqa/audit/audit_outputs.hpp"
#include "support/random.hpp"

using namespace gqa;

namespace {

// All outputs of a random problem; those by row are wrong in the rows of `broken`.
ProblemTensors recorded(const oracle::RealProblem& real, const std::set<std::int64_t>& broken) {
  ProblemTensors t = test::tensors_of(real);
  const oracle::Rules& r = real.rules;
  const Shape rows{r.batch, r.q_heads, r.queries};
  const auto wrong_in_rows = [&](std::vector<double> numbers, std::int64_t width) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const std::int64_t row = static_cast<std::int64_t>(i) / width;
      if (broken.contains(row)) numbers[i] = numbers[i] == 12345 ? 0 : 12345;
    }
    return numbers;
  };
  const auto tensor = [&](const std::vector<double>& numbers, std::int64_t width, bool last_axis) {
    Shape shape = rows;
    if (last_axis) shape.push_back(width);
    return test::tensor_of(ElementType::binary64, shape, wrong_in_rows(numbers, width));
  };
  t.output = tensor(test::flat(oracle::attend(real).output), r.value_size, true);
  t.qk_matmul_output = tensor(test::recorded_scores(real, 0), r.keys, true);
  t.lse = tensor(test::recorded_lse(real), 1, false);
  t.present_key = t.key;
  return t;
}

std::int64_t rows_with_violations(const AuditTally& tally) {
  std::int64_t rows = 0;
  for (const std::int64_t count : tally.row_violations) rows += count > 0 ? 1 : 0;
  return rows;
}

}  // namespace

TEST_CASE("sample: exactly the chosen rows of output, scores and lse are audited") {
  for (const std::uint64_t seed : test::seeds(60)) {
    CAPTURE(seed);
    test::Random random(seed);
    const oracle::RealProblem real = test::random_real_problem(random);
    const oracle::Rules& r = real.rules;
    const std::int64_t of = r.batch * r.q_heads * r.queries;
    AuditOptions options;
    options.tolerance = AbsoluteRelativeTolerance{make_rational(1, 1000), make_rational(1, 1000)};
    options.sample = RowSample{random.integer(1, of), seed};
    options.use_filter = random.one_in(2);
    CAPTURE(options.sample->rows);
    CAPTURE(options.use_filter);
    const std::vector<std::int64_t> numbers = sampled_numbers(*options.sample, of);
    const std::set<std::int64_t> chosen(numbers.begin(), numbers.end());
    std::set<std::int64_t> others;
    for (std::int64_t n = 0; n < of; ++n) {
      if (!chosen.contains(n)) others.insert(n);
    }
    const Contract contract = test::contract_of(real);
    for (const bool chosen_are_wrong : {false, true}) {
      CAPTURE(chosen_are_wrong);
      const ProblemTensors tensors = recorded(real, chosen_are_wrong ? chosen : others);
      const AttentionProblem problem = make_problem(tensors, contract);
      const auto outputs = audit_outputs(problem, tensors, options);
      REQUIRE(outputs.size() == 4);
      for (const OutputAudit& output : outputs) {
        CAPTURE(output.name);
        const AuditTally& tally = output.result.tally;
        if (output.name == "present_key") {
          CHECK(tally.elements == r.batch * r.kv_heads * r.keys * r.key_size);
          CHECK(output.result.verdict == Verdict::pass);
          continue;
        }
        const auto width = static_cast<std::int64_t>(tally.column_violations.size());
        CHECK(tally.elements == options.sample->rows * width);
        CHECK(tally.violations == (chosen_are_wrong ? tally.elements : 0));
        std::set<std::int64_t> rows;
        for (const std::int64_t n : numbers) rows.insert(n % r.queries);
        CHECK(rows_with_violations(tally) ==
              (chosen_are_wrong ? static_cast<std::int64_t>(rows.size()) : 0));
      }
    }
  }
}

TEST_CASE("sample: all rows as a sample find what the audit of all rows finds") {
  for (const std::uint64_t seed : test::seeds(20)) {
    CAPTURE(seed);
    test::Random random(seed);
    const oracle::RealProblem real = test::random_real_problem(random);
    const ProblemTensors tensors = recorded(real, {0, 3});
    const AttentionProblem problem = make_problem(tensors, test::contract_of(real));
    AuditOptions options;
    options.use_filter = false;
    options.tolerance = UlpTolerance{16};
    const auto whole = audit_outputs(problem, tensors, options);
    options.sample = RowSample{row_count(problem.dimensions), seed};
    const auto sampled = audit_outputs(problem, tensors, options);
    REQUIRE(whole.size() == sampled.size());
    for (std::size_t o = 0; o < whole.size(); ++o) {
      CAPTURE(whole[o].name);
      CHECK(sampled[o].result.verdict == whole[o].result.verdict);
      CHECK(sampled[o].result.where == whole[o].result.where);
      CHECK(sampled[o].result.tally.elements == whole[o].result.tally.elements);
      CHECK(sampled[o].result.tally.mean_ulp() == whole[o].result.tally.mean_ulp());
      CHECK(sampled[o].result.tally.row_violations == whole[o].result.tally.row_violations);
    }
  }
}
