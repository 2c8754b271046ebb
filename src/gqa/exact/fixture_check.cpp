#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gqa/error.hpp"
#include "gqa/exact/fixture.hpp"
#include "gqa/exact/pooling.hpp"
#include "gqa/exact/segment.hpp"

namespace gqa {
namespace {

using Result = AttentionResult<GmpNumbers>;

// Position of a flat index in a [B, H, T, x] tensor, for messages.
std::string place(const Shape& shape, std::size_t index) {
  std::vector<std::int64_t> coordinates(shape.size());
  auto rest = static_cast<std::int64_t>(index);
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    coordinates[axis] = rest % shape[axis];
    rest /= shape[axis];
  }
  return to_text(coordinates);
}

// What an element of an output must be: a number, NaN, or anything.
enum class ElementRule { number, nan, any };

ElementRule rule_of(const Problem<GmpNumbers>& problem, const Result& result, std::size_t index) {
  const auto width = static_cast<std::size_t>(result.output.extent(3));
  // A sink keeps the denominator positive, so the row is a true zero (CONTRACT, step 6).
  if (result.empty[index / width] == 0 || problem.sink) return ElementRule::number;
  switch (problem.contract.empty_row) {
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

class Checker {
 public:
  explicit Checker(const Fixture& fixture) : fixture_(fixture) {}

  FixtureReport run() {
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
    check_floats();
    report_.name = fixture_.name;
    report_.statement = fixture_.statement;
    report_.passed = report_.failures.empty();
    return std::move(report_);
  }

 private:
  template <class... Args>
  void fail(fmt::format_string<Args...> text, Args&&... args) {
    report_.failures.push_back(fmt::format(text, std::forward<Args>(args)...));
  }

  void expect_tensor(const Problem<GmpNumbers>& problem, const Result& result,
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
        fail("{}{}: {}, expected {}", what, place(expected.values.shape(), i),
             nan ? "nan" : to_text(result.output.data()[i]),
             expected.is_nan[i] != 0 ? "nan" : to_text(expected.values.data()[i]));
      }
    }
  }

  void check_weights() {
    if (!fixture_.weights) return;
    if (fixture_.weights->shape() != result_.weights.shape()) {
      fail("weights: shape {}, expected {}", to_text(result_.weights.shape()),
           to_text(fixture_.weights->shape()));
      return;
    }
    for (std::size_t i = 0; i < result_.weights.size(); ++i) {
      const Rational& expected = fixture_.weights->data()[i];
      if (result_.weights.data()[i] == expected) continue;
      fail("weights{}: {}, expected {}", place(result_.weights.shape(), i),
           to_text(result_.weights.data()[i]), to_text(expected));
    }
  }

  void check_head_map() {
    if (!fixture_.head_map) return;
    const auto map = resolve_head_map(fixture_.problem.contract.head_map, result_.output.extent(1),
                                      fixture_.problem.value.extent(1));
    if (map != *fixture_.head_map) fail("head map: {}, expected {}", map, *fixture_.head_map);
  }

  void check_empty_rows() {
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

  void check_second_engine();
  void check_map(const MapComparison& comparison);
  void check_permutation();
  void check_pooling();
  void check_segment();

  bool head_equal(const Result& a, std::int64_t head_a, const Result& b,
                  std::int64_t head_b) const {
    for (std::int64_t batch = 0; batch < a.output.extent(0); ++batch) {
      const auto left = a.output.matrix(batch, head_a);
      const auto right = b.output.matrix(batch, head_b);
      for (std::size_t i = 0; i < left.rows(); ++i) {
        if (!std::ranges::equal(left.row(i), right.row(i))) return false;
      }
    }
    return true;
  }

  void check_pairs() {
    const std::int64_t heads = result_.output.extent(1);
    const auto check = [&](const std::vector<HeadPair>& pairs, bool equal) {
      for (const auto& [a, b] : pairs) {
        if (std::min(a, b) < 0 || std::max(a, b) >= heads) {
          fail("heads {} and {}: there are only {}", a, b, heads);
        } else if (head_equal(result_, a, result_, b) != equal) {
          fail("heads {} and {}: outputs are {}", a, b, equal ? "not equal" : "equal");
        }
      }
    };
    check(fixture_.equal_outputs, true);
    check(fixture_.unequal_outputs, false);
  }

  void check_floats() {
    for (const CheckFormat format : check_formats) {
      CrossCheck check = crosscheck(fixture_.problem, result_, format);
      if (!check.within) {
        fail("{}: error {:.3g} is beyond the derived tolerance {:.3g}", name(format),
             check.max_error, check.tolerance);
      }
      report_.floats.push_back(check);
    }
  }

  const Fixture& fixture_;
  Result result_;
  FixtureReport report_;
};

template <class To, class From, class Cast>
std::optional<Tensor<To>> cast_tensor(const std::optional<Tensor<From>>& from, Cast cast) {
  if (!from) return std::nullopt;
  std::vector<To> data;
  data.reserve(from->size());
  for (const From& value : from->data()) data.push_back(cast(value));
  return Tensor<To>(from->shape(), std::move(data));
}

Problem<BoostNumbers> to_second_engine(const Problem<GmpNumbers>& problem) {
  const auto number = [](const Rational& x) { return to_boost(x); };
  const auto logarithm = [](const LogRational& x) { return log_rational_cast<BoostRational>(x); };
  Problem<BoostNumbers> other;
  other.contract = problem.contract;
  other.lengths = problem.lengths;
  other.mask = problem.mask;
  if (!problem.strengths) {
    other.query = *cast_tensor<BoostLogRational>(std::optional(problem.query), logarithm);
    other.key = *cast_tensor<BoostRational>(std::optional(problem.key), number);
  }
  other.value = *cast_tensor<BoostRational>(std::optional(problem.value), number);
  other.strengths = cast_tensor<BoostRational>(problem.strengths, number);
  other.bias = cast_tensor<BoostLogRational>(problem.bias, logarithm);
  other.score_shift = cast_tensor<BoostLogRational>(problem.score_shift, logarithm);
  if (problem.sink) {
    other.sink.emplace();
    for (const LogRational& sink : *problem.sink) other.sink->push_back(logarithm(sink));
  }
  return other;
}

void Checker::check_second_engine() {
  const auto other = attention(to_second_engine(fixture_.problem));
  for (std::size_t i = 0; i < result_.output.size(); ++i) {
    if (from_boost(other.output.data()[i]) == result_.output.data()[i]) continue;
    fail("output{}: the second engine gives {}", place(result_.output.shape(), i),
         to_text(other.output.data()[i]));
  }
  for (std::size_t i = 0; i < result_.weights.size(); ++i) {
    if (from_boost(other.weights.data()[i]) == result_.weights.data()[i]) continue;
    fail("weights{}: the second engine gives {}", place(result_.weights.shape(), i),
         to_text(other.weights.data()[i]));
  }
}

void Checker::check_map(const MapComparison& comparison) {
  Problem<GmpNumbers> other = fixture_.problem;
  other.contract.head_map = comparison.head_map;
  const Result changed = attention(other);
  std::vector<std::int64_t> heads;
  for (std::int64_t h = 0; h < result_.output.extent(1); ++h) {
    if (!head_equal(result_, h, changed, h)) heads.push_back(h);
  }
  if (heads != comparison.changed_heads) {
    fail("under the other map heads {} change, expected {}", heads, comparison.changed_heads);
  }
  if (comparison.output) expect_tensor(other, changed, *comparison.output, "compared output");
}

bool is_permutation_of(const std::vector<std::int64_t>& list, std::int64_t count) {
  std::vector<std::int64_t> sorted = list;
  std::ranges::sort(sorted);
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(sorted.size()); ++i) {
    if (sorted[static_cast<std::size_t>(i)] != i) return false;
  }
  return static_cast<std::int64_t>(list.size()) == count;
}

// New KV index of every new query head: where the old map's target went.
HeadMap permuted_map(const std::vector<std::int64_t>& old_map, const HeadPermutation& p) {
  HeadMap map{HeadMapKind::explicit_list, {}};
  for (const std::int64_t old_head : p.query_heads) {
    const std::int64_t old_kv = old_map[static_cast<std::size_t>(old_head)];
    map.list.push_back(std::ranges::find(p.kv_heads, old_kv) - p.kv_heads.begin());
  }
  return map;
}

void Checker::check_permutation() {
  if (!fixture_.permutation) return;
  const HeadPermutation& p = *fixture_.permutation;
  const Problem<GmpNumbers>& old = fixture_.problem;
  if (!is_permutation_of(p.query_heads, result_.output.extent(1)) ||
      !is_permutation_of(p.kv_heads, old.value.extent(1))) {
    fail("the permutation does not name every head once");
    return;
  }
  Problem<GmpNumbers> permuted = old;
  permuted.contract.head_map = permuted_map(
      resolve_head_map(old.contract.head_map, result_.output.extent(1), old.value.extent(1)), p);
  if (!old.strengths) {
    permuted.query = expand_heads(old.query, p.query_heads);
    permuted.key = expand_heads(old.key, p.kv_heads);
  }
  permuted.value = expand_heads(old.value, p.kv_heads);
  if (old.strengths) permuted.strengths = expand_heads(*old.strengths, p.query_heads);
  if (old.bias) permuted.bias = expand_heads(*old.bias, p.query_heads);
  if (old.score_shift) permuted.score_shift = expand_heads(*old.score_shift, p.query_heads);
  if (old.mask && old.mask->extent(1) != 1) {
    permuted.mask = expand_heads(*old.mask, p.query_heads);
  }
  if (old.sink) {
    for (std::size_t h = 0; h < p.query_heads.size(); ++h) {
      (*permuted.sink)[h] = (*old.sink)[static_cast<std::size_t>(p.query_heads[h])];
    }
  }
  const Result result = attention(permuted);
  for (std::size_t h = 0; h < p.query_heads.size(); ++h) {
    if (!head_equal(result_, p.query_heads[h], result, static_cast<std::int64_t>(h))) {
      fail("permuted head {} differs from head {}", h, p.query_heads[h]);
    }
  }
}

void Checker::check_pooling() {
  if (!fixture_.pooled) return;
  Problem<GmpNumbers> pooled = fixture_.problem;
  pooled.contract.head_map = {};
  if (!pooled.strengths) {
    pooled.key = mean_pool_heads(fixture_.problem.key, fixture_.pooled->kv_heads);
  }
  pooled.value = mean_pool_heads(fixture_.problem.value, fixture_.pooled->kv_heads);
  const Result result = attention(pooled);
  expect_tensor(pooled, result, fixture_.pooled->output, "pooled output");
  const bool lossless = result.output == result_.output;
  if (lossless != fixture_.pooled->lossless) {
    fail("pooling is {}", lossless ? "lossless" : "not lossless");
  }
}

void Checker::check_segment() {
  if (fixture_.segment.empty()) return;
  const auto values = fixture_.problem.value.matrix(0, 0);
  for (const SegmentExpectation& expected : fixture_.segment) {
    std::vector<std::string> text;
    for (const Rational& x : expected.point) text.push_back(to_text(x));
    const std::string point = fmt::format("point ({})", fmt::join(text, ","));
    const auto weights = affine_weights(values, expected.point);
    if (is_attainable(weights) != expected.attainable) {
      fail("{} is {}", point, is_attainable(weights) ? "attainable" : "not attainable");
    }
    if (values.rows() == 2 &&
        on_open_segment(values.row(0), values.row(1), expected.point) != expected.attainable) {
      fail("{}: the segment test disagrees", point);
    }
    if (expected.weights && (!weights || *weights != *expected.weights)) {
      fail("{}: the weights differ from those expected", point);
    }
  }
}

}  // namespace

FixtureReport check_fixture(const Fixture& fixture) {
  return Checker(fixture).run();
}

}  // namespace gqa
