#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gqa/error.hpp"
#include "gqa/exact/fixture_checker.hpp"

namespace gqa {
namespace {

using Result = AttentionResult<GmpNumbers>;

// What an element of an output must be: a number, NaN, or anything.
enum class ElementRule { number, nan, any };

ElementRule rule_of(const Problem<GmpNumbers>& problem, const Result& result, std::size_t index) {
  const auto width = static_cast<std::size_t>(result.output.extent(3));
  if (result.empty[index / width] == 0) return ElementRule::number;
  switch (empty_row_rule(problem.contract.empty_row, problem.sink.has_value())) {
    case EmptyRow::zero:
      return ElementRule::number;
    case EmptyRow::nan:
      return ElementRule::nan;
    case EmptyRow::any:
      return ElementRule::any;
    case EmptyRow::mean:
      // The exact formula gives zero there; only the audit knows the mean.
      throw InputError("exact.empty_row", "empty_row", "mean is not for exact fixtures");
  }
  return ElementRule::number;
}

}  // namespace

std::string index_text(const Shape& shape, std::size_t index) {
  std::vector<std::int64_t> coordinates(shape.size());
  auto rest = static_cast<std::int64_t>(index);
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    coordinates[axis] = rest % shape[axis];
    rest /= shape[axis];
  }
  return to_text(coordinates);
}

FixtureReport FixtureChecker::run() {
  const Problem<GmpNumbers>& problem = fixture_.problem;
  result_ = attention(problem);
  report_.exact = result_.output;
  for (std::size_t i = 0; i < result_.output.size(); ++i) {
    report_.is_nan.push_back(rule_of(problem, result_, i) == ElementRule::nan ? 1 : 0);
  }
  if (!fixture_.output) fail("no expected output is stated");
  if (result_.output.empty()) fail("the output has no element: nothing was checked");
  if (fixture_.output) expect_tensor(problem, result_, *fixture_.output, "output");
  check_weights();
  check_head_map();
  check_empty_rows();
  check_second_engine();
  for (const MapComparison& comparison : fixture_.comparisons) check_map(comparison);
  check_permutation();
  check_pairs();
  check_pooling();
  check_segment();
  for (const LayerExpectation& expected : fixture_.other_layers) check_other_layer(expected);
  check_position_shifts();
  for (const MergeExpectation& expected : fixture_.merged) check_merge(expected);
  check_online_softmax();
  check_gradients();
  check_floats();
  report_.name = fixture_.name;
  report_.statement = fixture_.statement;
  report_.passed = report_.failures.empty();
  return std::move(report_);
}

void FixtureChecker::expect_tensor(const Problem<GmpNumbers>& problem, const Result& result,
                                   const ExpectedTensor& expected, const char* what) {
  if (result.output.shape() != expected.values.shape()) {
    fail("{}: shape {}, expected {}", what, to_text(result.output.shape()),
         to_text(expected.values.shape()));
    return;
  }
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    const ElementRule rule = rule_of(problem, result, i);
    if (rule == ElementRule::any) continue;
    const bool nan = rule == ElementRule::nan;
    if (nan != (expected.is_nan[i] != 0) ||
        (!nan && result.output.data()[i] != expected.values.data()[i])) {
      fail("{}{}: {}, expected {}", what, index_text(expected.values.shape(), i),
           nan ? "nan" : to_text(result.output.data()[i]),
           expected.is_nan[i] != 0 ? "nan" : to_text(expected.values.data()[i]));
    }
  }
}

void FixtureChecker::check_weights() {
  if (!fixture_.weights) return;
  expect_elements(result_.weights, *fixture_.weights, "weights");
}

void FixtureChecker::check_head_map() {
  if (!fixture_.head_map) return;
  const auto map = resolve_head_map(fixture_.problem.contract.head_map, result_.output.extent(1),
                                    fixture_.problem.value.extent(1));
  if (map != *fixture_.head_map) fail("head map: {}, expected {}", map, *fixture_.head_map);
}

void FixtureChecker::check_empty_rows() {
  if (!fixture_.empty_rows) return;
  const Shape& shape = result_.output.shape();
  std::vector<std::vector<std::int64_t>> empty;
  for (std::size_t row = 0; row < result_.empty.size(); ++row) {
    if (result_.empty[row] == 0) continue;
    const auto r = static_cast<std::int64_t>(row);
    empty.push_back({r / (shape[1] * shape[2]), r / shape[2] % shape[1], r % shape[2]});
  }
  if (empty != *fixture_.empty_rows) {
    fail("empty rows: {}, expected {}", empty, *fixture_.empty_rows);
  }
}

void FixtureChecker::check_floats() {
  for (const CheckFormat format : check_formats) {
    CrossCheck check = crosscheck(fixture_.problem, result_, format);
    if (check.beyond_range) {
      note("{}: not compared, the values are beyond its largest number", name(format));
    } else if (!check.within) {
      fail("{}: error {:.3g} is beyond the derived tolerance {:.3g}", name(format), check.max_error,
           check.tolerance);
    }
    report_.floats.push_back(check);
  }
}

void FixtureChecker::check_second_engine() {
  const auto other = attention(to_second_engine(fixture_.problem));
  for (std::size_t i = 0; i < result_.output.size(); ++i) {
    if (from_boost(other.output.data()[i]) == result_.output.data()[i]) continue;
    fail("output{}: the second engine gives {}", index_text(result_.output.shape(), i),
         to_text(other.output.data()[i]));
  }
  for (std::size_t i = 0; i < result_.weights.size(); ++i) {
    if (from_boost(other.weights.data()[i]) == result_.weights.data()[i]) continue;
    fail("weights{}: the second engine gives {}", index_text(result_.weights.shape(), i),
         to_text(other.weights.data()[i]));
  }
}

FixtureReport check_fixture(const Fixture& fixture) {
  FixtureReport report = FixtureChecker(fixture).run();
  report.value = fixture.problem.value;
  report.segment = fixture.segment;
  return report;
}

}  // namespace gqa
