// The filter may only be faster: with and without it every verdict is the same.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "audit/filter_problems.hpp"
#include "gqa/audit/audit.hpp"
#include "gqa/audit/enclose/enclosure.hpp"
#include "support/random.hpp"

namespace {

using namespace gqa;

// The element as a kernel might have it: right, an ulp or two away, off by far, or NaN.
double near(double exact, test::Random& random) {
  auto output = static_cast<float>(exact);
  const std::int64_t steps = random.pick<std::int64_t>({0, 0, 0, 1, 2, 3, 50});
  for (std::int64_t s = 0; s < steps; ++s) output = std::nextafter(output, 1e30F);
  return random.one_in(40) ? std::nan("") : static_cast<double>(output);
}

// As far from exact as the model finds likely, or almost, or a little more, or by far.
double beside_likely(const Ball& exact, const Ball& likely, test::Random& random) {
  const double share = random.pick({0.0, 0.1, 0.5, 0.9, 0.99, 1 - 1e-7, 1 + 1e-7, 1.01, 1.5, 20.0});
  const double sign = random.one_in(2) ? 1 : -1;
  return (exact + Ball(sign * share) * likely).midpoint_double();
}

std::shared_ptr<TypedTensor> zeros(const Dimensions& d, ElementType type) {
  auto tensor = std::make_shared<TypedTensor>();
  tensor->type = type;
  tensor->shape = {d.batch, d.q_heads, d.queries, d.value_size};
  tensor->bytes.resize(static_cast<std::size_t>(element_count(tensor->shape)) * element_size(type));
  return tensor;
}

// One row near the exact one; beside the bound of `model` if there is one.
std::vector<double> near_row(const EnclosureReader& reader, std::int64_t head, std::int64_t row,
                             std::vector<double> zero, const PrecisionModel* model,
                             test::Random& random) {
  const auto visible = reader.visible(head, row);
  if (visible.empty() || !reader.is_finite(head, row, visible)) return zero;
  const auto exact = reader.row(head, row, visible);
  const RowRounding rounding =
      reader.rounding(model == nullptr ? f32_model : *model, head, row, visible, exact);
  std::optional<RoundingBound> bound;
  if (model != nullptr) bound.emplace(*model, rounding, model->output_rounding(binary64));
  for (std::size_t c = 0; c < zero.size(); ++c) {
    const Ball& reference = exact.output[c];
    if (bound) {
      const auto values = reader.value_column(visible, static_cast<std::int64_t>(c));
      zero[c] = beside_likely(reference, bound->column(values, reference).allowance(), random);
    } else {
      zero[c] = near(reference.midpoint_double(), random);
    }
  }
  return zero;
}

// Outputs near the exact ones, in binary32, or for most models in binary64 beside the bound.
std::shared_ptr<const TypedTensor> near_outputs(ProblemTensors tensors, const Contract& contract,
                                                const Tolerance& tolerance, test::Random& random) {
  const auto* stated = std::get_if<ModelTolerance>(&tolerance);
  const PrecisionModel* model = stated == nullptr || random.one_in(4) ? nullptr : stated->model;
  const ElementType type = model == nullptr ? ElementType::binary32 : ElementType::binary64;
  const Dimensions d = make_problem(tensors, contract).dimensions;
  tensors.output = zeros(d, type);
  const AttentionProblem problem = make_problem(tensors, contract);
  const std::vector<double> zero(static_cast<std::size_t>(d.value_size));
  std::vector<double> output;
  for (std::int64_t b = 0; b < d.batch; ++b) {
    for (std::int64_t h = 0; h < d.q_heads; ++h) {
      const EnclosureReader reader(problem, b, problem.head_map[static_cast<std::size_t>(h)]);
      for (std::int64_t i = 0; i < d.queries; ++i) {
        std::vector<double> row = near_row(reader, h, i, zero, model, random);
        if (random.one_in(10)) row.back() = std::numeric_limits<double>::quiet_NaN();
        output.insert(output.end(), row.begin(), row.end());
      }
    }
  }
  return gqa_test::tensor_of(tensors.output->shape, output, type);
}

Tolerance some_model(test::Random& random) {
  const auto models = precision_models();
  const auto last = static_cast<std::int64_t>(models.size()) - 1;
  return ModelTolerance{models[static_cast<std::size_t>(random.integer(0, last))],
                        random.one_in(4)};
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
      return some_model(random);
  }
}

// Both ways to the verdict must agree; returns how many elements needed no enclosure.
struct Decided {
  std::int64_t by_filter = 0;
  std::int64_t elements = 0;
};

Decided compare_with_enclosures(std::uint64_t seed, Tolerance (*tolerance)(test::Random&)) {
  CAPTURE(seed);
  gqa_test::Random operands(static_cast<unsigned>(seed));
  gqa_test::RandomProblem drawn(operands);
  CAPTURE(drawn.description);
  test::Random random(seed);
  ProblemTensors tensors = drawn.tensors;
  AuditOptions options;
  options.tolerance = tolerance(random);
  options.largest_precision = 1024;
  CAPTURE(describe(options.tolerance));
  tensors.output = near_outputs(tensors, drawn.contract, options.tolerance, random);
  const AttentionProblem problem = make_problem(tensors, drawn.contract);
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
  return {filtered.tally.decided_by_filter, filtered.tally.elements};
}

}  // namespace

TEST_CASE("audit: the filter gives the verdict of enclosures on every element") {
  Decided total;
  for (const std::uint64_t seed : test::seeds(60)) {
    const Decided found = compare_with_enclosures(seed, some_tolerance);
    total.by_filter += found.by_filter;
    total.elements += found.elements;
  }
  MESSAGE("decided by the filter: " << total.by_filter << " of " << total.elements << " elements");
  CHECK(total.by_filter * 4 > total.elements);
}

TEST_CASE("audit: beside the likely bound of every model, the filter's verdict is that of balls") {
  Decided total;
  for (const std::uint64_t seed : test::seeds(120)) {
    const Decided found = compare_with_enclosures(seed + 1000, some_model);
    total.by_filter += found.by_filter;
    total.elements += found.elements;
  }
  MESSAGE("decided in binary64: " << total.by_filter << " of " << total.elements << " elements");
  CHECK(total.by_filter * 4 > total.elements);
}
