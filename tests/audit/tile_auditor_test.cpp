// The filter may only be faster: with and without it every verdict is the same.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "audit/filter_problems.hpp"
#include "gqa/audit/audit.hpp"
#include "gqa/audit/enclosure.hpp"
#include "support/random.hpp"

namespace {

using namespace gqa;

// Outputs in binary32 near the exact ones: right, an ulp or two away, or off by far.
std::shared_ptr<const TypedTensor> near_outputs(const AttentionProblem& problem,
                                                test::Random& random) {
  const Dimensions& d = problem.dimensions;
  auto tensor = std::make_shared<TypedTensor>();
  tensor->type = ElementType::binary32;
  tensor->shape = {d.batch, d.q_heads, d.queries, d.value_size};
  for (std::int64_t b = 0; b < d.batch; ++b) {
    for (std::int64_t h = 0; h < d.q_heads; ++h) {
      const EnclosureReader reader(problem, b, problem.head_map[static_cast<std::size_t>(h)]);
      for (std::int64_t i = 0; i < d.queries; ++i) {
        const auto visible = reader.visible(h, i);
        std::vector<float> row(static_cast<std::size_t>(d.value_size), 0.0F);
        if (!visible.empty() && reader.is_finite(h, i, visible)) {
          const auto exact = reader.row(h, i, visible);
          for (std::size_t c = 0; c < row.size(); ++c) {
            row[c] = static_cast<float>(exact.output[c].midpoint_double());
            const std::int64_t steps = random.pick<std::int64_t>({0, 0, 0, 1, 2, 3, 50});
            for (std::int64_t s = 0; s < steps; ++s) row[c] = std::nextafter(row[c], 1e30F);
            if (random.one_in(40)) row[c] = std::nanf("");
          }
        }
        const auto* bytes = reinterpret_cast<const std::byte*>(row.data());
        tensor->bytes.insert(tensor->bytes.end(), bytes, bytes + row.size() * sizeof(float));
      }
    }
  }
  return tensor;
}

Tolerance some_tolerance(test::Random& random) {
  switch (random.integer(0, 3)) {
    case 0:
      return UlpTolerance{make_rational(static_cast<long>(random.integer(0, 8)), 2)};
    case 1:
      return AbsoluteRelativeTolerance{0, power_of_two(random.pick<long>({-24, -23, -20}))};
    case 2:
      return AbsoluteRelativeTolerance{power_of_two(random.pick<long>({-30, -24, -10})), 0};
    default:
      return ModelTolerance{find_precision_model("f32"), random.one_in(3)};
  }
}

}  // namespace

TEST_CASE("audit: the filter gives the verdict of enclosures on every element") {
  std::int64_t by_filter = 0;
  std::int64_t elements = 0;
  for (const std::uint64_t seed : test::seeds(60)) {
    CAPTURE(seed);
    gqa_test::Random operands(static_cast<unsigned>(seed));
    gqa_test::RandomProblem drawn(operands);
    CAPTURE(drawn.description);
    test::Random random(seed);
    ProblemTensors tensors = drawn.tensors;
    tensors.output = near_outputs(make_problem(tensors, drawn.contract), random);
    const AttentionProblem problem = make_problem(tensors, drawn.contract);
    AuditOptions options;
    options.tolerance = some_tolerance(random);
    options.largest_precision = 1024;
    const AuditResult filtered = audit(problem, options);
    options.use_filter = false;
    const AuditResult enclosed = audit(problem, options);
    CHECK(filtered.verdict == enclosed.verdict);
    CHECK(filtered.tally.elements == enclosed.tally.elements);
    CHECK(filtered.tally.violations == enclosed.tally.violations);
    CHECK(filtered.tally.undecided == enclosed.tally.undecided);
    CHECK(filtered.tally.head_violations == enclosed.tally.head_violations);
    CHECK(filtered.tally.row_violations == enclosed.tally.row_violations);
    CHECK(filtered.tally.column_violations == enclosed.tally.column_violations);
    CHECK(filtered.strength == enclosed.strength);
    CHECK(filtered.where == enclosed.where);
    // The true largest error lies in both certified ranges.
    CHECK(filtered.tally.max_absolute_error.lower <= enclosed.tally.max_absolute_error.upper);
    CHECK(enclosed.tally.max_absolute_error.lower <= filtered.tally.max_absolute_error.upper);
    by_filter += filtered.tally.decided_by_filter;
    elements += filtered.tally.elements;
  }
  MESSAGE("decided by the filter: " << by_filter << " of " << elements << " elements");
  CHECK(by_filter * 4 > elements);
}
