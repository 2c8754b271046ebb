// No verdict depends on how the work is cut: threads, tiles, blocks and segments of keys.
#include <doctest/doctest.h>

#include <mutex>

#include "audit/filter_problems.hpp"
#include "audit/findings.hpp"
#include "audit/rounded_kernels.hpp"
#include "gqa/audit/audit.hpp"
#include "gqa/audit/decide/recorded_rounding.hpp"
#include "gqa/audit/enclose/audited_element.hpp"
#include "gqa/audit/filter/tile_auditor.hpp"
#include "support/random.hpp"

using namespace gqa;
using test::Findings;
using test::findings_of;

namespace {

// What audit() does, with the filter's work cut as the options say.
Findings audit_cut(const AttentionProblem& problem, const Tolerance& tolerance, FilterOptions cut) {
  AuditOptions options;
  options.tolerance = tolerance;
  options.recorded = recorded_rounding(tolerance, *problem.output);
  cut.model_terms = std::holds_alternative<ModelTolerance>(tolerance);
  const Dimensions& d = problem.dimensions;
  AuditTally total(d.batch, d.q_heads, d.queries, d.value_size);
  TileAuditor auditor(problem, options);
  std::mutex mutex;
  filter_reference(problem, cut, [&](const FilterTile& tile) {
    AuditTally tally(d.batch, d.q_heads, d.queries, d.value_size);
    auditor.audit_tile(tile, tally);
    const std::lock_guard lock(mutex);
    total.merge(tally);
  });
  return findings_of(result_of(std::move(total), "", tolerance));
}

// Binary64 outputs whose errors are about the tolerance: each decision is a close one.
std::shared_ptr<TypedTensor> close_outputs(const ProblemTensors& tensors, const Contract& contract,
                                           gqa_test::Random& random, double error) {
  const AttentionProblem problem = make_problem(tensors, contract);
  const Dimensions& d = problem.dimensions;
  std::vector<double> values(
      static_cast<std::size_t>(d.batch * d.q_heads * d.queries * d.value_size));
  for (const gqa_test::Certified& row : gqa_test::run_filter(problem, {})) {
    const std::int64_t first =
        ((row.batch * d.q_heads + row.row.head) * d.queries + row.row.row) * d.value_size;
    for (std::size_t c = 0; c < row.output.size(); ++c) {
      const double off = error * gqa_test::one_of(random, {0.0, 0.5, 1 - 1e-12, 1 + 1e-12, 2.0});
      values[static_cast<std::size_t>(first) + c] = row.output[c] + off;
    }
  }
  return gqa_test::tensor_of({d.batch, d.q_heads, d.queries, d.value_size}, values,
                             ElementType::binary64);
}

}  // namespace

TEST_CASE("audit: threads, tiles, blocks and segments change no verdict") {
  for (const std::uint64_t seed : test::seeds(40)) {
    gqa_test::Random random(static_cast<unsigned>(seed));
    const gqa_test::RandomProblem drawn(random);
    CAPTURE(seed);
    CAPTURE(drawn.description);
    ProblemTensors tensors = drawn.tensors;
    tensors.output = close_outputs(tensors, drawn.contract, random, 0x1p-20);
    const AttentionProblem problem = make_problem(tensors, drawn.contract);
    for (const Tolerance& tolerance :
         {Tolerance(AbsoluteRelativeTolerance{power_of_two(-20), 0}),
          Tolerance(ModelTolerance{gqa_test::one_of(random, {&f32_model, &f16_f32_model})})}) {
      AuditOptions options;
      options.tolerance = tolerance;
      options.recorded = recorded_rounding(tolerance, *problem.output);
      const Findings expected = findings_of(audit(problem, options));
      for (const int threads : {1, 2, 3}) {
        FilterOptions cut = gqa_test::random_options(random);
        cut.threads = threads;
        CAPTURE(describe(tolerance));
        CAPTURE(threads);
        CAPTURE(cut.tile_rows);
        CAPTURE(cut.key_block);
        CAPTURE(cut.key_segment);
        CHECK(audit_cut(problem, tolerance, cut) == expected);
      }
    }
  }
}
