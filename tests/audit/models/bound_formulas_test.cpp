// The bounds against their formulas, written out a second time (bound_twin.hpp), with units and
// rows that make every term count: what is small under every preset would not be missed there.
#include <doctest/doctest.h>

#include <cmath>

#include "audit/models/bound_twin.hpp"
#include "gqa/audit/models/score_bound.hpp"
#include "support/random.hpp"

using namespace gqa;
using test::BoundTwin;
using test::Real;
using test::TwinRow;

namespace {

// Each unit is absent or coarse, so that every term is the largest in some draw.
PrecisionModel drawn_model(test::Random& random) {
  const auto unit = [&random] {
    return random.one_in(2) ? 0.0 : std::ldexp(1.0, -static_cast<int>(random.integer(7, 14)));
  };
  const auto tiny = [&random] { return random.one_in(2) ? 0.0 : random.uniform(1e-7, 1e-5); };
  PrecisionModel model{.name = "drawn"};
  model.score = unit();
  model.stored_score = unit();
  model.exponential = unit();
  model.denominator = unit();
  model.weight = unit();
  model.accumulation = unit();
  model.operand = unit();
  model.value = unit();
  model.products_at_once = random.pick({0.0, 0.0, 4.0, 16.0});
  model.weight_underflow = tiny();
  model.inner_underflow = tiny();
  model.weights_scaled = random.one_in(2);
  return model;
}

FormatRounding drawn_recorded(test::Random& random) {
  return {random.pick({0.0, 0x1p-9}), random.pick({0.0, 1e-4})};
}

// The k-th key as an earlier one, or its score, or both.
void repeat_some(TwinRow& row, std::size_t k, test::Random& random) {
  const auto earlier = static_cast<std::size_t>(random.integer(0, static_cast<int>(k) - 1));
  const bool both = random.one_in(3);
  if (both || random.one_in(3)) {
    row.keys[k] = row.keys[earlier];
    row.raw[k] = row.raw[earlier];
    if (row.plain) row.scores[k] = row.scores[earlier];
  }
  if (both || random.one_in(3)) {
    row.scores[k] = row.scores[earlier];
    if (row.plain) row.raw[k] = row.scores[k];
  }
}

// Equal scores, spread ones, one key that takes nearly all weight, or keys and scores of which some
// are equal.
TwinRow drawn_row(test::Random& random) {
  TwinRow row;
  const auto n = static_cast<std::size_t>(random.pick({1, 2, 5, 24}));
  const auto dk = static_cast<std::size_t>(random.integer(1, 4));
  for (std::size_t t = 0; t < dk; ++t) row.query.push_back(random.normal());
  row.scale = random.pick({0.5, 2.0});
  row.plain = random.one_in(2);
  row.softcap = row.plain || random.one_in(2) ? 0 : random.pick({0.5, 3.0});
  const int kind = static_cast<int>(random.integer(0, 3));
  for (std::size_t k = 0; k < n; ++k) {
    std::vector<Real>& key = row.keys.emplace_back();
    for (std::size_t t = 0; t < dk; ++t)
      key.push_back(kind == 0 && k > 0 ? row.keys[0][t] : random.normal());
    row.raw.push_back(kind == 0 && k > 0 ? row.raw[0] : random.normal());
    row.scores.push_back(row.raw.back());
    if (!row.plain && kind != 0) row.scores.back() += random.uniform(-0.5, 0.5);
    if (kind == 2 && k == 0) row.scores[0] += 6;
    if (kind == 3 && k > 0) repeat_some(row, k, random);
    if (!row.plain) row.biases.push_back(random.uniform(0, 1));
  }
  if (!row.plain && random.one_in(3)) row.biases.clear();
  row.sink = random.one_in(2);
  row.sink_score = row.sink ? random.uniform(-3, 3) : 0;
  Real total = row.sink ? std::exp(row.sink_score) : 0;
  for (const Real score : row.scores) total += std::exp(score);
  // Doubles, as the balls get them.
  for (const Real score : row.scores) {
    row.weights.push_back(static_cast<double>(std::exp(score) / total));
  }
  if (row.sink) row.sink_weight = static_cast<double>(std::exp(row.sink_score) / total);
  return row;
}

Ball ball(Real x) {
  const auto high = static_cast<double>(x);
  return Ball(high) + Ball(static_cast<double>(x - high));
}

std::vector<Ball> balls(const std::vector<Real>& numbers) {
  std::vector<Ball> result;
  for (const Real x : numbers) result.push_back(ball(x));
  return result;
}

Ball norm2(const std::vector<Real>& x) {
  Ball sum;
  for (const Real e : x) sum += ball(e) * ball(e);
  return sqrt(sum);
}

Ball norm4_squared(const std::vector<Real>& x) {
  Ball sum;
  for (const Real e : x) sum += ball(e) * ball(e) * ball(e) * ball(e);
  return sqrt(sum);
}

std::vector<std::int64_t> labels(const TwinRow& row, const auto& same) {
  std::vector<std::int64_t> result;
  for (std::size_t k = 0; k < row.scores.size(); ++k) {
    std::size_t first = 0;
    while (!same(first, k)) ++first;
    result.push_back(static_cast<std::int64_t>(first));
  }
  return result;
}

EqualClasses classes_of(const TwinRow& row) {
  const auto scores = [&row](std::size_t j, std::size_t k) {
    return row.scores[j] == row.scores[k];
  };
  const auto keys = [&row](std::size_t j, std::size_t k) { return row.keys[j] == row.keys[k]; };
  return equal_classes(labels(row, scores), labels(row, keys));
}

RowRounding rounding_of(const TwinRow& row) {
  RowRounding result;
  result.key_size = static_cast<std::int64_t>(row.query.size());
  result.visible = static_cast<std::int64_t>(row.scores.size());
  result.query_norm2 = norm2(row.query);
  result.query_norm4_squared = norm4_squared(row.query);
  result.scale = ball(row.scale);
  for (const auto& key : row.keys) {
    result.key_norm2.push_back(norm2(key));
    result.key_norm4_squared.push_back(norm4_squared(key));
    for (const Real x : key) result.keys.push_back(ball(x));
  }
  result.query = balls(row.query);
  result.raw_scores = balls(row.raw);
  result.scores = balls(row.scores);
  result.weights = balls(row.weights);
  result.equal = classes_of(row);
  result.plain = row.plain;
  result.softcap = ball(row.softcap);
  result.biases = balls(row.biases);
  if (row.sink) {
    result.sink_score = ball(row.sink_score);
    result.sink_weight = ball(row.sink_weight);
  }
  return result;
}

void check_same(const Ball& found, Real expected) {
  CAPTURE(to_text(found));
  CAPTURE(static_cast<double>(expected));
  CHECK(std::abs(found.midpoint_double() - static_cast<double>(expected)) <=
        1e-10 * static_cast<double>(expected));
}

struct Column {
  std::vector<Real> values;
  Real output = 0;
};

// Normal values, equal ones, one that is far larger, or of three kinds.
Column drawn_column(test::Random& random, const TwinRow& row) {
  Column column;
  const int kind = static_cast<int>(random.integer(0, 3));
  const std::vector<double> few = {random.normal(), random.normal(), random.normal()};
  const double same = random.normal();
  for (std::size_t k = 0; k < row.weights.size(); ++k) {
    column.values.push_back(kind == 0 ? same : random.normal());
    if (kind == 3) column.values.back() = few[static_cast<std::size_t>(random.integer(0, 2))];
    if (kind == 2 && k == row.weights.size() / 2) column.values.back() *= 1000;
    column.output += row.weights[k] * column.values[k];
  }
  column.output = static_cast<double>(column.output);
  return column;
}

}  // namespace

TEST_CASE("bound formulas: likely and worst of an output, written a second time, are the same") {
  std::int64_t bounded = 0;
  for (const std::uint64_t seed : test::seeds(600)) {
    test::Random random(seed);
    CAPTURE(seed);
    const PrecisionModel model = drawn_model(random);
    const FormatRounding recorded = drawn_recorded(random);
    const TwinRow row = drawn_row(random);
    const Column column = drawn_column(random, row);
    const RowRounding rounding = rounding_of(row);
    const RoundingBound bound(model, rounding, recorded);
    const BoundTwin twin(model, recorded, row);
    const std::vector<Ball> values = balls(column.values);
    std::vector<const Ball*> pointers;
    for (const Ball& value : values) pointers.push_back(&value);
    const RoundingBounds found = bound.column(pointers, ball(column.output));
    check_same(found.likely, twin.likely(column.values, column.output));
    const Real worst = twin.worst(column.values, column.output);
    CHECK(found.worst.is_finite() == std::isfinite(worst));
    if (!std::isfinite(worst)) continue;
    check_same(found.worst, worst);
    ++bounded;
  }
  CHECK(bounded > test::of_all_seeds(300));
}

TEST_CASE("bound formulas: those of scores, weights and lse, written a second time, are the same") {
  for (const std::uint64_t seed : test::seeds(400)) {
    test::Random random(seed);
    CAPTURE(seed);
    const PrecisionModel model = drawn_model(random);
    const FormatRounding recorded = drawn_recorded(random);
    const TwinRow row = drawn_row(random);
    const BoundTwin twin(model, recorded, row);
    const RowRounding rounding = rounding_of(row);
    const WeightBound weights(model, rounding, recorded);
    for (std::size_t k = 0; k < row.scores.size(); ++k) {
      const RoundingBounds score = score_bounds(
          model,
          {magnitudes_of(rounding, k), rounding.query_norm4_squared, rounding.key_norm4_squared[k]},
          recorded);
      check_same(score.likely, twin.score_likely(k));
      check_same(score.worst, twin.score_worst(k));
      const RoundingBounds weight = weights.weight(k);
      check_same(weight.likely, twin.weight_likely(k));
      check_same(weight.worst, twin.weight_worst(k));
    }
    const double lse = random.normal();
    const RoundingBounds found = weights.lse(Ball(lse));
    check_same(found.likely, twin.lse_likely(lse));
    check_same(found.worst, twin.lse_worst(lse));
  }
}
