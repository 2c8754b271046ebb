#include "gqa/exact/enumeration.hpp"

#include <doctest/doctest.h>

#include <mutex>
#include <set>

#include "gqa/exact/enumeration_crosscheck.hpp"
#include "oracle/naive_attention.hpp"
#include "support/errors.hpp"
#include "support/random_problem.hpp"

using namespace gqa;

namespace {

// Pairs (n, m) with m | n and n <= max: the sum of the divisor counts, counted by multiples.
std::int64_t divisor_pairs(std::int64_t max) {
  std::int64_t pairs = 0;
  for (std::int64_t m = 1; m <= max; ++m) pairs += max / m;
  return pairs;
}

// h mod m == floor(h / (n/m)) for every h < n exactly if m == 1 or m == n, so the maps differ
// for every divisor but those two (one where n == 1).
std::int64_t differing_pairs(std::int64_t max) {
  return divisor_pairs(max) - (2 * max - 1);
}

// The enumeration's problem, written from its description alone.
oracle::ExactProblem described_case(std::int64_t q_heads, std::int64_t kv_heads,
                                    std::size_t family) {
  const int primes[] = {2, 3, 5, 7, 11, 13, 17, 19};
  oracle::ExactProblem p;
  oracle::Rules& r = p.rules;
  r.q_heads = static_cast<int>(q_heads);
  r.kv_heads = static_cast<int>(kv_heads);
  r.keys = 4;
  r.value_size = 3;
  p.value = oracle::array4<oracle::Exact>(1, r.kv_heads, 4, 3, 0);
  p.strengths = oracle::array4<oracle::Exact>(1, r.q_heads, 1, 4, 0);
  for (int h = 0; h < r.q_heads; ++h) {
    r.kv_head_of.push_back(h / (r.q_heads / r.kv_heads));
    for (int j = 0; j < 4; ++j) {
      const oracle::Exact strengths[] = {
          1,
          h + j + 1,
          h + 4 - j,
          1 << ((h + j) % 4),
          oracle::Exact(1) / (h + j + 1),
          oracle::Exact(primes[(h + j) % 8]) / primes[(j + 3) % 8],
      };
      p.strengths[0][static_cast<std::size_t>(h)][0][static_cast<std::size_t>(j)] =
          strengths[family];
    }
  }
  for (int g = 0; g < r.kv_heads; ++g) {
    for (int j = 0; j < 4; ++j) {
      p.value[0][static_cast<std::size_t>(g)][static_cast<std::size_t>(j)] = {
          10 * g + j, oracle::Exact(j + 1) / (g + 2),
          oracle::Exact((j % 2 == 0 ? 1 : -1) * (g + 1)) + oracle::Exact(1) / (j + 1)};
    }
  }
  return p;
}

}  // namespace

TEST_CASE("enumeration: 12 heads give 35 pairs, 210 equal cases, 72 controls and 138 without") {
  for (const Engine engine : {Engine::gmp, Engine::boost}) {
    const EnumerationResult result = enumerate_cases(12, engine);
    CHECK(result.pairs == 35);
    CHECK(result.fixtures == 6);
    CHECK(result.cases == 210);
    CHECK(result.equal == 210);
    CHECK(result.map_differs == 72);
    CHECK(result.detected == 72);
    CHECK(result.map_coincides == 138);
    CHECK(result.false_alarms == 0);
    CHECK(result.failures.empty());
    CHECK(result.holds());
  }
}

TEST_CASE("enumeration: the counts follow the divisor sums for every maximum to 16") {
  for (std::int64_t max = 1; max <= 16; ++max) {
    CAPTURE(max);
    const EnumerationResult result = enumerate_cases(max, Engine::gmp);
    CHECK(result.max_heads == max);
    CHECK(result.pairs == divisor_pairs(max));
    CHECK(result.cases == 6 * divisor_pairs(max));
    CHECK(result.equal == result.cases);
    CHECK(result.map_differs == 6 * differing_pairs(max));
    CHECK(result.detected == 6 * differing_pairs(max));
    CHECK(result.holds());
  }
}

TEST_CASE("enumeration: both engines count alike beyond the shipped size") {
  const EnumerationResult gmp = enumerate_cases(16, Engine::gmp);
  const EnumerationResult boost = enumerate_cases(16, Engine::boost);
  CHECK(gmp.cases == boost.cases);
  CHECK(gmp.equal == boost.equal);
  CHECK(gmp.map_differs == boost.map_differs);
  CHECK(gmp.detected == boost.detected);
  CHECK(boost.holds());
}

TEST_CASE("enumeration: every case's output is the oracle's, under both engines") {
  for (const EnumerationCase& which : enumeration_cases(12)) {
    CAPTURE(which.q_heads);
    CAPTURE(which.kv_heads);
    CAPTURE(which.family);
    const auto expected =
        oracle::attend(described_case(which.q_heads, which.kv_heads, which.family));
    CHECK(attention(case_problem<Rational>(which)).output ==
          test::to_tensor<Rational>(expected.output));
    CHECK(attention(case_problem<BoostRational>(which)).output ==
          test::to_tensor<BoostRational>(expected.output));
  }
}

TEST_CASE("enumeration: cases are distinct and name only divisors") {
  std::set<std::tuple<std::int64_t, std::int64_t, std::size_t>> seen;
  for (const EnumerationCase& which : enumeration_cases(12)) {
    CHECK(which.q_heads % which.kv_heads == 0);
    CHECK(seen.insert({which.q_heads, which.kv_heads, which.family}).second);
  }
  CHECK(seen.size() == 210);
}

TEST_CASE("enumeration: progress ends at the number of cases and never goes back") {
  std::int64_t last = 0;
  bool rising = true;
  enumerate_cases(12, Engine::gmp, [&](std::int64_t done) {
    rising = rising && done > last;
    last = done;
  });
  CHECK(rising);
  CHECK(last == 210);
}

TEST_CASE("enumeration: a maximum outside 1..512 is refused at max_heads") {
  for (const std::int64_t max : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{513}}) {
    CAPTURE(max);
    CHECK(test::refusal_of([&] { enumerate_cases(max, Engine::gmp); }) ==
          "enumerate.max_heads at max_heads");
  }
}

TEST_CASE("enumeration: a result holds only if something was asked and nothing is missing") {
  EnumerationResult good;
  good.cases = good.equal = 6;
  good.map_differs = good.detected = 2;
  good.map_coincides = 4;
  CHECK(good.holds());
  CHECK_FALSE(EnumerationResult().holds());
  const auto broken = [&](auto change) {
    EnumerationResult result = good;
    change(result);
    return !result.holds();
  };
  CHECK(broken([](auto& r) { --r.equal; }));
  CHECK(broken([](auto& r) { --r.detected; }));
  CHECK(broken([](auto& r) { ++r.false_alarms; }));
  CHECK(broken([](auto& r) { --r.map_coincides; }));
}

TEST_CASE("enumeration: all 210 cases are within the derived tolerance in every float format") {
  const EnumerationCrossCheck check = crosscheck_cases(12);
  CHECK(check.cases == 210);
  for (std::size_t f = 0; f < check_formats.size(); ++f) {
    CAPTURE(name(check_formats[f]));
    CHECK(check.within[f] == 210);
    CHECK(check.worst[f].within);
    CHECK(check.worst[f].max_ratio > 0);
    CHECK(check.worst[f].max_ratio <= 1);
  }
  CHECK(check.holds());
  EnumerationCrossCheck missing = check;
  --missing.within[1];
  CHECK_FALSE(missing.holds());
  CHECK_FALSE(EnumerationCrossCheck().holds());
}
