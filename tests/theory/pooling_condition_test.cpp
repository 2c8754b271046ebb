#include "gqa/theory/pooling_condition.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "gqa/exact/pooling.hpp"
#include "gqa/theory/certificate.hpp"
#include "gqa/theory/weight_pooling.hpp"
#include "support/errors.hpp"
#include "support/random.hpp"

using namespace gqa;

namespace {

void check_certificate_kind(const nlohmann::ordered_json& certificate, const std::string& kind) {
  const auto verdict = check_certificate(certificate.dump(), "c.json");
  INFO(certificate.dump());
  INFO(verdict.reason);
  CHECK(verdict.verified);
  CHECK(verdict.kind == kind);
}

// Decides, and has every certificate of the answer checked.
bool lossless(const PooledGroup& group, PooledPositions positions = PooledPositions::all) {
  const std::optional<PoolingLoss> loss = pooling_loss(group, positions);
  check_certificate_kind(certificate_of(loss, group, positions),
                         loss ? "pooling_loss" : "pooling_lossless");
  if (loss && positions == PooledPositions::all) {
    const std::optional<PoolingWitness> witness = pooling_witness(group, loss->head);
    REQUIRE(witness.has_value());
    check_certificate_kind(certificate_of(*witness, group, loss->head), "counterexample");
  }
  return !loss;
}

RationalMatrix random_history(test::Random& random, std::int64_t positions, std::int64_t size) {
  RationalMatrix history;
  for (std::int64_t j = 0; j < positions; ++j) {
    RationalVector row;
    for (std::int64_t c = 0; c < size; ++c)
      row.emplace_back(static_cast<long>(random.integer(-1, 1)));
    history.push_back(std::move(row));
  }
  return history;
}

// Whether some query of a grid tells two outputs apart, in binary64: an oracle by trial.
bool told_apart(const PooledGroup& group) {
  const RationalMatrix keys = mean_of(group.keys), values = mean_of(group.values);
  const auto output = [](const RationalMatrix& k, const RationalMatrix& v, double a, double b) {
    double sum = 0, total = 0;
    for (std::size_t j = 0; j < k.size(); ++j) {
      const double weight = std::exp(a * k[j][0].get_d() + b * k[j][1].get_d());
      total += weight;
      sum += weight * v[j][0].get_d();
    }
    return sum / total;
  };
  for (std::size_t h = 0; h < group.heads(); ++h) {
    for (const double a : {0.0, 0.7, -1.3, 2.1}) {
      for (const double b : {0.0, 0.45, -1.1, 1.9}) {
        const double own = output(group.keys[h], group.values[h], a, b);
        if (std::abs(own - output(keys, values, a, b)) > 1e-9) return true;
      }
    }
  }
  return false;
}

}  // namespace

TEST_CASE(
    "pooling condition: (2,0),(2,0) and (0,6),(0,6) lose, half of the difference at each head") {
  const PooledGroup group{{{{1, 0}, {0, 1}}, {{1, 0}, {0, 1}}},
                          {{{2, 0}, {2, 0}}, {{0, 6}, {0, 6}}}};
  CHECK_FALSE(lossless(group));
  CHECK(pooling_loss_at_equal_scores(group) == RationalMatrix{{1, -3}, {-1, 3}});
}

TEST_CASE("pooling condition: equal values with keys shifted by a constant a head are lossless") {
  const PooledGroup group{{{{0, 1}, {1, 0}}, {{5, -2}, {6, -3}}}, {{{5}, {7}}, {{5}, {7}}}};
  CHECK(lossless(group));
  CHECK(lossless(group, PooledPositions::every_prefix));
}

TEST_CASE(
    "pooling condition: positions in another order are lossless over all, not while growing") {
  // The same history, each head in its own order, with keys equal: only the set counts.
  const PooledGroup group{{{{0}, {0}}, {{0}, {0}}}, {{{1}, {3}}, {{3}, {1}}}};
  CHECK(lossless(group));
  CHECK_FALSE(lossless(group, PooledPositions::every_prefix));
  CHECK(pooling_loss(group, PooledPositions::every_prefix)->positions == 1);
}

TEST_CASE("pooling condition: one constant value is lossless whatever the keys") {
  const PooledGroup group{{{{0}, {7}}, {{-3}, {1}}}, {{{5}, {5}}, {{5}, {5}}}};
  CHECK(lossless(group));
}

TEST_CASE(
    "pooling condition: different keys lose where values differ, though not at equal scores") {
  const PooledGroup group{{{{0}, {1}}, {{1}, {0}}}, {{{0}, {2}}, {{0}, {2}}}};
  CHECK_FALSE(lossless(group));
  CHECK(pooling_loss_at_equal_scores(group) == RationalMatrix{{0}, {0}});
  CHECK(pooling_witness(group, 0)->bases == RationalVector{2});
}

TEST_CASE("pooling condition: agrees with trying queries in binary64") {
  std::size_t kept = 0;
  for (const std::uint64_t seed : test::seeds(400)) {
    test::Random random(seed);
    const std::int64_t heads = random.integer(1, 3), positions = random.integer(1, 3);
    PooledGroup group;
    const RationalMatrix values = random_history(random, positions, 1);
    const RationalMatrix keys = random_history(random, positions, 2);
    for (std::int64_t h = 0; h < heads; ++h) {
      group.values.push_back(random.one_in(3) ? random_history(random, positions, 1) : values);
      group.keys.push_back(random.one_in(2) ? random_history(random, positions, 2) : keys);
    }
    CAPTURE(seed);
    const bool no_loss = lossless(group);
    kept += no_loss ? 1 : 0;
    CHECK(no_loss == !told_apart(group));
  }
  CHECK(kept > 40);
}

TEST_CASE("pooling condition: the mean is that of mean_pool_heads") {
  const RationalMatrices heads{{{2, 0}, {2, 0}}, {{0, 6}, {0, 6}}};
  const Tensor<Rational> pooled =
      mean_pool_heads(Tensor<Rational>({1, 2, 2, 2}, {2, 0, 2, 0, 0, 6, 0, 6}), 1);
  CHECK(mean_of(heads) == RationalMatrix{{1, 3}, {1, 3}});
  CHECK(pooled.data() == std::vector<Rational>{1, 3, 1, 3});
}

TEST_CASE(
    "pooling condition: the smallest loss for every pair up to 12 query heads, and none below") {
  std::size_t losing = 0, never = 0;
  for (std::int64_t q_heads = 1; q_heads <= 12; ++q_heads) {
    for (std::int64_t kv_heads = 1; kv_heads <= q_heads; ++kv_heads) {
      if (q_heads % kv_heads != 0) continue;
      CAPTURE(q_heads);
      CAPTURE(kv_heads);
      const auto by_value = smallest_pooling_loss(q_heads, kv_heads);
      const auto by_key = smallest_key_pooling_loss(q_heads, kv_heads);
      CHECK(by_value.has_value() == (q_heads != kv_heads));
      CHECK(by_key.has_value() == (q_heads != kv_heads));
      if (!by_value || !by_key) {
        ++never;
        continue;
      }
      ++losing;
      CHECK(by_value->heads() == static_cast<std::size_t>(q_heads / kv_heads));
      CHECK_FALSE(lossless(*by_value));
      CHECK_FALSE(lossless(*by_key));
      // Below: the one entry of 1 taken away; the values of the other, or its key.
      PooledGroup smaller = *by_value;
      smaller.values[0][0][0] = 0;
      CHECK(lossless(smaller));
      smaller = *by_key;
      smaller.keys[0][0][0] = 0;
      CHECK(lossless(smaller));
      smaller = *by_key;
      for (RationalMatrix& values : smaller.values) values[1][0] = 0;
      CHECK(lossless(smaller));
    }
  }
  CHECK(losing == 23);
  CHECK(never == 12);
}

TEST_CASE("pooling condition: shapes and head counts that do not fit are refused at the field") {
  const auto refusal = [](const PooledGroup& group) {
    return test::refusal_of([&] { pooling_loss(group, PooledPositions::all); });
  };
  CHECK(refusal({}) == "pooling.shape at keys");
  CHECK(refusal({{{{0}}, {{0}, {1}}}, {{{0}}, {{0}}}}) == "pooling.shape at keys");
  CHECK(refusal({{{{0}}}, {{{0}}, {{0}}}}) == "pooling.shape at values");
  CHECK(refusal({{{{0}}}, {{{}}}}) == "pooling.shape at values");
  CHECK(test::refusal_of([] { smallest_pooling_loss(4, 3); }) ==
        "pooling.heads_not_divisible at kv_num_heads");
}

TEST_CASE("pooling condition: keys with large denominators have a loss but no witness in numbers") {
  PooledGroup group{{{{0}, {make_rational(1, 1'000'003)}}, {{0}, {1}}}, {{{0}, {2}}, {{0}, {2}}}};
  const auto loss = pooling_loss(group, PooledPositions::all);
  REQUIRE(loss.has_value());
  CHECK_FALSE(pooling_witness(group, loss->head).has_value());
}

TEST_CASE("weight pooling: the mean of adjacent heads told apart from three other rules") {
  const RationalMatrix heads{{0}, {2}, {4}, {8}};
  const auto rule_of = [&](const RationalMatrix& pooled) {
    std::string names;
    for (const RuleMatch& match : identify_pooling(heads, pooled, nullptr)) {
      if (match.matches) names += name(match.rule);
    }
    return names;
  };
  CHECK(rule_of({{1}, {6}}) == "contiguous_mean");
  CHECK(rule_of({{2}, {5}}) == "strided_mean");
  CHECK(rule_of({{2}, {12}}) == "contiguous_sum");
  CHECK(rule_of({{0}, {4}}) == "first_of_group");
  CHECK(rule_of({{1}, {5}}).empty());
  CHECK(identify_pooling(heads, {{1}, {5}}, nullptr)[0].max_difference == 1);
  CHECK(test::refusal_of([&] {
          identify_pooling(heads, {{1}, {2}, {3}}, nullptr);
        }) == "pooling.heads_not_divisible at kv_num_heads");
  CHECK(test::refusal_of([&] {
          identify_pooling(heads, {{1, 1}, {2, 2}}, nullptr);
        }) == "pooling.shape at pooled");
}

TEST_CASE("weight pooling: a mean rounded once to the stored format is that mean") {
  const RationalMatrix heads{{1}, {0}, {0}};
  const Rational third = rational_from_double(static_cast<double>(1.0F / 3.0F));
  CHECK(identify_pooling(heads, {{third}}, &binary32)[0].matches);
  CHECK_FALSE(identify_pooling(heads, {{third}}, nullptr)[0].matches);
  const Rational next = third + power_of_two(-25);
  CHECK_FALSE(identify_pooling(heads, {{next}}, &binary32)[0].matches);
}

TEST_CASE("weight pooling: every decision has a certificate that the checker accepts") {
  int lossless = 0, values_differ = 0, scores_differ = 0;
  for (const std::uint64_t seed : test::seeds(300)) {
    CAPTURE(seed);
    test::Random random(seed);
    const auto weights = [&](bool alike, std::size_t rows, std::size_t width) {
      RationalMatrices all(2, RationalMatrix(rows, RationalVector(width)));
      for (RationalMatrix& one : all) {
        for (RationalVector& row : one) {
          for (Rational& x : row) x = static_cast<long>(random.integer(-1, 1));
        }
      }
      if (alike) all[1] = all[0];
      return all;
    };
    const auto width = static_cast<std::size_t>(random.integer(1, 4));
    const auto keys = weights(random.integer(0, 3) == 0, 2, width);
    const auto values = weights(random.integer(0, 3) > 0, 1, width);
    const auto queries = random.integer(0, 1) == 0 ? RationalMatrices() : weights(false, 2, width);
    const auto loss = weight_pooling_loss(keys, values, queries);
    check_certificate_kind(certificate_of(loss, keys, values, queries),
                           loss ? "weight_pooling_loss" : "weight_pooling_lossless");
    lossless += loss ? 0 : 1;
    values_differ += loss == WeightPoolingLoss::values_differ ? 1 : 0;
    scores_differ += loss == WeightPoolingLoss::scores_differ ? 1 : 0;
    if (!loss) continue;
    // The opposite statement is not accepted of the same weights.
    const auto opposite = certificate_of(std::optional<WeightPoolingLoss>(), keys, values, queries);
    CHECK_FALSE(check_certificate(opposite.dump(), "c.json").verified);
  }
  CHECK(std::min({lossless, values_differ, scores_differ}) > test::of_all_seeds(20));
}

TEST_CASE("weight pooling: lossless exactly if values are equal and scores do not change") {
  const RationalMatrix a{{1, 0}, {0, 1}}, b{{1, 1}, {0, 1}}, zero{{0, 0}, {0, 0}};
  CHECK_FALSE(weight_pooling_loss({a, a}, {b, b}, {}).has_value());
  CHECK(weight_pooling_loss({a, a}, {a, b}, {}) == WeightPoolingLoss::values_differ);
  CHECK(weight_pooling_loss({a, b}, {a, a}, {}) == WeightPoolingLoss::scores_differ);
  CHECK_FALSE(weight_pooling_loss({a, b}, {zero, zero}, {}).has_value());
  // Keys differ in their first coordinate alone, which no query has.
  const RationalMatrix second_only{{0, 0}, {3, 4}};
  CHECK_FALSE(weight_pooling_loss({a, b}, {a, a}, {second_only, second_only}).has_value());
  CHECK(weight_pooling_loss({a, b}, {a, a}, {second_only, a}) == WeightPoolingLoss::scores_differ);
  CHECK(test::refusal_of([&] {
          weight_pooling_loss({a, b}, {a}, {});
        }) == "pooling.shape at value_weights");
  CHECK(test::refusal_of([&] {
          weight_pooling_loss({a, b}, {a, a}, {a});
        }) == "pooling.shape at query_weights");
  CHECK(test::refusal_of([&] { weight_pooling_loss({}, {}, {}); }) ==
        "pooling.shape at key_weights");
}
