#include "gqa/exact/crosscheck.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "support/random_problem.hpp"

using namespace gqa;

namespace {

// 4 query heads on 2 KV heads, 2 rows, 3 keys, logarithmic queries: contiguous and
// interleaved maps differ for heads 1 and 2.
Problem<GmpNumbers> sample_problem() {
  test::Random random(7);
  oracle::ExactProblem source;
  source.rules.q_heads = 4;
  source.rules.kv_heads = 2;
  source.rules.queries = 2;
  source.rules.keys = 3;
  source.rules.key_size = 2;
  source.rules.value_size = 2;
  source.rules.kv_head_of = {0, 0, 1, 1};
  source.query = test::random_array<oracle::Logarithm>(
      1, 4, 2, 2, [&] { return test::random_logarithm(random); });
  source.key =
      test::random_array<int>(1, 2, 3, 2, [&] { return static_cast<int>(random.integer(1, 3)); });
  source.value = test::random_array<oracle::Exact>(
      1, 2, 3, 2, [&] { return to_boost(Rational(random.small_rational() + 13)); });
  Problem<GmpNumbers> problem = test::to_problem<GmpNumbers>(source);
  problem.contract.head_map = {};
  return problem;
}

template <class Break>
CrossCheck check_broken(Break break_it) {
  const Problem<GmpNumbers> exact = sample_problem();
  const auto result = attention(exact);
  Problem<DoubleNumbers> real = real_path_problem<double>(exact);
  Tensor<double> output = break_it(real);
  return compare_with_exact(output, result.output, derived_tolerance<double>(exact, result));
}

}  // namespace

TEST_CASE("crosscheck: random exact problems are within the derived tolerance in every format") {
  for (const std::uint64_t seed : test::seeds(120)) {
    test::Random random(seed);
    const auto problem = test::to_problem<GmpNumbers>(test::random_exact_problem(random));
    const auto result = attention(problem);
    CAPTURE(seed);
    for (const CheckFormat format : check_formats) {
      const CrossCheck check = crosscheck(problem, result, format);
      CAPTURE(name(format));
      CAPTURE(check.max_error);
      CAPTURE(check.tolerance);
      CHECK(check.format == format);
      CHECK(check.elements == static_cast<std::int64_t>(result.output.size()));
      CHECK(check.within);
      CHECK(check.max_ratio <= 1);
    }
  }
}

TEST_CASE("crosscheck: the tolerance is tight enough to mean something") {
  const Problem<GmpNumbers> problem = sample_problem();
  const auto result = attention(problem);
  const double expected[] = {1e-13, 1e-16, 1e-47};
  for (std::size_t f = 0; f < check_formats.size(); ++f) {
    CHECK(crosscheck(problem, result, check_formats[f]).tolerance < 100 * expected[f]);
  }
}

TEST_CASE("crosscheck: the healthy real path is within, so what follows shows the fault") {
  CHECK(check_broken([](auto& real) { return attention(real).output; }).within);
}

TEST_CASE("crosscheck: a missing scale is caught") {
  CHECK_FALSE(check_broken([](auto& real) {
                real.scale.reset();
                return attention(real).output;
              }).within);
}

TEST_CASE("crosscheck: the interleaved map is caught") {
  CHECK_FALSE(check_broken([](auto& real) {
                real.contract.head_map.kind = HeadMapKind::interleaved;
                return attention(real).output;
              }).within);
}

TEST_CASE("crosscheck: one output moved by 1e-12 of itself in binary64 is caught") {
  for (std::size_t at : {0U, 5U, 15U}) {
    CAPTURE(at);
    const CrossCheck check = check_broken([at](auto& real) {
      Tensor<double> output = attention(real).output;
      output.data()[at] *= 1 + 1e-12;
      return output;
    });
    CHECK_FALSE(check.within);
    CHECK(check.max_ratio > 1);
  }
}

TEST_CASE("crosscheck: one weight off by 1e-12 of itself, not renormalised, is caught") {
  const CrossCheck check = check_broken([](auto& real) {
    auto result = attention(real);
    const double weight = result.weights.matrix(0, 2)(1, 0);
    REQUIRE(weight > 0.2);
    // The row's output, with the first key's weight a trifle too large.
    for (std::size_t c = 0; c < 2; ++c) {
      result.output.matrix(0, 2)(1, c) += weight * 1e-12 * real.value.matrix(0, 1)(0, c);
    }
    return result.output;
  });
  CHECK_FALSE(check.within);
}

TEST_CASE("crosscheck: NaN and infinity are never within") {
  for (const double poison :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    const CrossCheck check = check_broken([poison](auto& real) {
      Tensor<double> output = attention(real).output;
      output.data()[3] = poison;
      return output;
    });
    CHECK_FALSE(check.within);
    CHECK(check.max_error == std::numeric_limits<double>::infinity());
  }
}

TEST_CASE("crosscheck: outputs of another shape are not within") {
  CHECK_FALSE(check_broken([](auto&) { return Tensor<double>({1, 4, 2, 1}); }).within);
}

TEST_CASE("crosscheck: a joined comparison is within only if every part is") {
  CrossCheck good;
  good.elements = 2;
  good.max_error = 1;
  good.tolerance = 2;
  good.max_ratio = 0.5;
  good.within = true;
  CrossCheck bad = good;
  bad.max_error = 3;
  bad.max_ratio = 1.5;
  bad.within = false;
  CrossCheck joined;
  CHECK_FALSE(joined.within);
  joined.merge(good);
  CHECK(joined.within);
  joined.merge(bad);
  CHECK_FALSE(joined.within);
  CHECK(joined.elements == 4);
  CHECK(joined.max_error == 3);
  CHECK(joined.max_ratio == 1.5);
  joined.merge(good);
  CHECK_FALSE(joined.within);
}

TEST_CASE("crosscheck: a long double is read as it is, far beyond and below what a double holds") {
  if (std::numeric_limits<long double>::max_exponent < 16384) return;  // a double by another name
  for (const int exponent : {16383, 1030, 1024, -1074, -1080, -16382, -16445}) {
    CAPTURE(exponent);
    const Tensor<Rational> exact({2}, {power_of_two(exponent), Rational(-power_of_two(exponent))});
    const Tensor<long double> output({2},
                                     {std::ldexp(1.0L, exponent), -std::ldexp(1.0L, exponent)});
    const CrossCheck check = compare_with_exact(output, exact, Tensor<Rational>({2}, Rational(0)));
    CHECK(check.within);
    CHECK(check.max_error == 0);
  }
  // All 64 bits of the significand count.
  const Tensor<long double> output({1}, {1 + std::ldexp(1.0L, -63)});
  const Tensor<Rational> exact({1}, {Rational(1 + power_of_two(-63))});
  CHECK(compare_with_exact(output, exact, Tensor<Rational>({1}, Rational(0))).within);
}

TEST_CASE("crosscheck: values beyond a format's largest number are not compared in it") {
  Problem<GmpNumbers> problem = sample_problem();
  for (Rational& value : problem.value.data()) value *= parse_rational("1e310");
  const auto result = attention(problem);
  CHECK(crosscheck(problem, result, CheckFormat::binary64).beyond_range);
  for (const CheckFormat format : {CheckFormat::long_double, CheckFormat::decimal50}) {
    const CrossCheck check = crosscheck(problem, result, format);
    CHECK_FALSE(check.beyond_range);
    CHECK(check.within);
  }
}
