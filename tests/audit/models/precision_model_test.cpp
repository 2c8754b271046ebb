#include "gqa/audit/models/precision_model.hpp"

#include <doctest/doctest.h>

#include "audit/float_kernels.hpp"
#include "gqa/audit/enclose/enclosure.hpp"

using namespace gqa;
using gqa::test::audit_f32;
using gqa::test::FloatFault;
using gqa::test::FloatKernel;
using gqa::test::FloatOperands;
using gqa::test::Order;

namespace {

// Small to large problems with corner-biased operands; scores from nothing to hundreds.
FloatOperands random_operands(test::Random& random) {
  FloatOperands o;
  o.kv_heads = random.integer(1, 2);
  o.q_heads = o.kv_heads * random.integer(1, 3);
  o.keys = random.pick<std::int64_t>({1, 2, 3, 7, 16, 33, 64, 150, 600});
  o.queries = random.integer(1, 3);
  o.key_size = random.pick<std::int64_t>({1, 2, 8, 16, 32});
  o.value_size = random.integer(1, 4);
  o.causal = random.one_in(2);
  const int kind = static_cast<int>(random.integer(0, 4));
  const double factor = random.pick({1e-3, 1.0, 4.0});
  o = fill(o, [&] {
    switch (kind) {
      case 0:
        return random.uniform(-1, 1);
      case 1:
        return random.pick({0.0, 1.0, -1.0, 0.5, 3.0});
      case 2:
        return random.normal() * std::ldexp(1.0, static_cast<int>(random.integer(-8, 2)));
      case 3:
        return 0.75;
      default:
        return random.normal();
    }
  });
  for (float& x : o.query) x *= static_cast<float>(factor);
  if (random.one_in(3)) {
    for (std::int64_t h = 0; h < o.q_heads; ++h) {
      o.sink.push_back(static_cast<float>(random.uniform(-3, 3)));
    }
  }
  return o;
}

FloatOperands normal_operands(std::uint64_t seed, std::int64_t keys) {
  test::Random random(seed);
  FloatOperands o;
  o.q_heads = 4;
  o.kv_heads = 2;
  o.queries = 2;
  o.keys = keys;
  o.key_size = 16;
  o.value_size = 4;
  return fill(o, [&] { return random.normal(); });
}

RowRounding one_key_row() {
  RowRounding row;
  row.key_size = 4;
  row.visible = 1;
  row.query_norm2 = row.query_norm4_squared = row.scale = Ball(1);
  row.key_norm2 = row.key_norm4_squared = row.raw_scores = row.scores = row.weights = {Ball(1)};
  return row;
}

}  // namespace

TEST_CASE("precision_model: a model is found by its exact name alone") {
  CHECK(find_precision_model("f32") == &f32_model);
  CHECK(find_precision_model("F32") == nullptr);
  CHECK(find_precision_model("") == nullptr);
}

TEST_CASE("precision_model: healthy binary32 kernels pass, sequential and blocked") {
  for (const std::uint64_t seed : test::seeds(60)) {
    test::Random random(seed);
    const FloatOperands operands = random_operands(random);
    CAPTURE(seed);
    CAPTURE(operands.keys);
    for (const Order order : {Order::sequential, Order::blocked}) {
      const AuditResult result = audit_f32(operands, FloatKernel(operands, order).run());
      CAPTURE(static_cast<int>(order));
      CAPTURE(result.where);
      CAPTURE(result.tally.max_ulp_error.upper);
      CHECK(result.verdict == Verdict::pass);
      CHECK(result.strength == FailureStrength::none);
      CHECK(result.tally.undecided == 0);
    }
  }
}

TEST_CASE("precision_model: one missing key fails, up to 600 keys") {
  for (const std::int64_t keys : {2, 16, 150, 600}) {
    for (const std::uint64_t seed : test::seeds(3)) {
      CAPTURE(keys);
      CAPTURE(seed);
      const FloatOperands operands = normal_operands(seed, keys);
      FloatFault fault;
      fault.missing_key = keys / 2;
      const auto result = audit_f32(operands, FloatKernel(operands, Order::blocked, fault).run());
      CHECK(result.verdict == Verdict::fail);
      CHECK(result.tally.violations > 0);
    }
  }
}

TEST_CASE("precision_model: a wrong head map fails at exactly the heads that it moves") {
  for (const std::int64_t keys : {3, 64}) {
    CAPTURE(keys);
    const FloatOperands operands = normal_operands(1, keys);
    FloatFault fault;
    fault.interleaved = true;
    const auto result = audit_f32(operands, FloatKernel(operands, Order::sequential, fault).run());
    CHECK(result.verdict == Verdict::fail);
    CHECK(result.strength == FailureStrength::proved);
    // (0,0,1,1) against (0,1,0,1)
    CHECK(result.tally.head_violations == std::vector<std::int64_t>{0, 8, 8, 0});
    CHECK(result.where == "all of batch 0, query heads 1 and 2");
  }
}

TEST_CASE("precision_model: a missing scale fails") {
  for (const std::int64_t keys : {2, 150}) {
    CAPTURE(keys);
    const FloatOperands operands = normal_operands(2, keys);
    FloatFault fault;
    fault.no_scale = true;
    CHECK(audit_f32(operands, FloatKernel(operands, Order::blocked, fault).run()).verdict ==
          Verdict::fail);
  }
}

TEST_CASE("precision_model: a dropped sink of logit zero fails at small S") {
  for (const std::int64_t keys : {1, 4, 16, 64}) {
    CAPTURE(keys);
    FloatOperands operands = normal_operands(3, keys);
    operands.sink.assign(4, 0.0F);
    CHECK(audit_f32(operands, FloatKernel(operands, Order::sequential).run()).verdict ==
          Verdict::pass);
    FloatFault fault;
    fault.drop_sink = true;
    CHECK(audit_f32(operands, FloatKernel(operands, Order::sequential, fault).run()).verdict ==
          Verdict::fail);
  }
}

TEST_CASE("precision_model: one output element off by 2^-15 of itself fails") {
  const FloatOperands operands = normal_operands(4, 32);
  std::vector<float> output = FloatKernel(operands, Order::blocked).run();
  output[5] *= 1 + 0x1p-15F;
  const AuditResult result = audit_f32(operands, output);
  CHECK(result.verdict == Verdict::fail);
  CHECK(result.tally.violations == 1);
  CHECK(result.tally.worst[0].index == std::array<std::int64_t, 4>{0, 0, 1, 1});
}

TEST_CASE("precision_model: the likely bound is below the worst case, and both are positive") {
  const FloatOperands operands = normal_operands(5, 20);
  const AttentionProblem problem =
      to_problem(operands, FloatKernel(operands, Order::sequential).run());
  const EnclosureReader reader(problem, 0, 1);
  const auto visible = reader.visible(2, 0);
  const auto row = reader.row(2, 0, visible);
  const RowRounding rounding = reader.rounding(f32_model, 2, 0, visible, row);
  const RoundingBound bound(f32_model, rounding, f32_model.output_rounding(binary32));
  for (std::int64_t c = 0; c < 4; ++c) {
    const auto bounds =
        bound.column(reader.value_column(visible, c), row.output[static_cast<std::size_t>(c)]);
    CHECK(less(Ball(0), bounds.likely) == Uncertain::yes());
    CHECK(less(bounds.likely, bounds.worst) == Uncertain::yes());
    CHECK(bounds.worst.upper_double() < 1e-4);
  }
}

TEST_CASE("precision_model: an element is allowed the smaller of both bounds") {
  const Ball open = Ball(1) / Ball(0);
  CHECK(RoundingBounds{Ball(2), Ball(3)}.allowance().contains(2));
  CHECK(RoundingBounds{Ball(3), Ball(2)}.allowance().contains(2));
  CHECK_FALSE(RoundingBounds{Ball(3), Ball(2)}.allowance().contains(3));
  // A worst case that nothing bounds leaves what is likely.
  CHECK(RoundingBounds{Ball(3), open}.allowance().contains(3));
  CHECK(RoundingBounds{Ball(3), open}.allowance().is_exact());
}

TEST_CASE("precision_model: the bounds of one key, by hand") {
  // One key of weight 1: nothing spreads, so only the sums' roundings and the output's stay.
  const RowRounding row = one_key_row();
  const RoundingBound bound(f32_model, row, f32_model.output_rounding(binary32));
  const Ball value(2);
  const Ball* const values[] = {&value};
  const auto bounds = bound.column(values, value);
  const double u = 0x1p-24;
  // var = (u^2/3 + u^2/6) 4 + 2 u^2/9 4; a single weight and a single term have no spread, so
  // that u of the weight and 1/2 u of each sum may be common: 1 + 1/2 + 1/2 units of 2, and
  // one for the output.
  const double likely = 6 * std::sqrt(2 * u * u + 8.0 / 9 * u * u) + 2 * 3 * u;
  CHECK(bounds.likely.midpoint_double() == doctest::Approx(likely).epsilon(1e-9));
  // D = 4 + 6 units (nothing is stored), E = D + 4 (0 + 1 + ln 2 + 1) units; 3 exps of 4, the
  // weight and 6 additions and the like, in each of both sums; one for the output.
  const double units = 2 * (4 + 6 + 4 * (2 + std::log(2.0)) + 3 * 4 + 1 + 6) + 1;
  CHECK(bounds.worst.midpoint_double() == doctest::Approx(2 * units * u).epsilon(1e-4));
}

TEST_CASE("precision_model: scores too large for any bound give an open worst case") {
  RowRounding row = one_key_row();
  row.raw_scores = row.scores = {Ball(1e9)};
  row.query_norm2 = Ball(1e9);
  const RoundingBound bound(f32_model, row, f32_model.output_rounding(binary32));
  const Ball value(1);
  const Ball* const values[] = {&value};
  CHECK_FALSE(bound.column(values, value).worst.is_finite());
}
