#include "gqa/theory/attainable.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "gqa/exact/segment.hpp"
#include "gqa/theory/certificate.hpp"
#include "support/errors.hpp"
#include "support/random.hpp"

using namespace gqa;

namespace {

RationalMatrix random_rows(test::Random& random, std::int64_t rows, std::int64_t columns,
                           std::int64_t most) {
  RationalMatrix result;
  for (std::int64_t r = 0; r < rows; ++r) {
    RationalVector row;
    for (std::int64_t c = 0; c < columns; ++c) {
      row.emplace_back(static_cast<long>(random.integer(-most, most)));
    }
    result.push_back(std::move(row));
  }
  return result;
}

RationalVector mixed(const RationalMatrix& values, const RationalVector& weights) {
  RationalVector point(values[0].size());
  Rational sum = 0;
  for (const Rational& weight : weights) sum += weight;
  for (std::size_t j = 0; j < values.size(); ++j) {
    for (std::size_t c = 0; c < point.size(); ++c) point[c] += weights[j] * values[j][c] / sum;
  }
  return point;
}

// Decides, and has the answer's certificate checked.
bool attainable(const RationalMatrix& values, const RationalVector& point) {
  const Attainability found = attainability(values, point);
  const auto verdict = check_certificate(certificate_of(found, values, point).dump(), "c.json");
  INFO(certificate_of(found, values, point).dump());
  INFO(verdict.reason);
  CHECK(verdict.verified);
  CHECK(verdict.kind == (found.attainable ? "attainable_point" : "separating_hyperplane"));
  return found.attainable;
}

Reach reach(const RationalMatrix& values, const RationalMatrix& keys, const RationalVector& point) {
  const KeyReachability found = key_reachability(values, keys, point);
  if (found.reach == Reach::undecided) {
    CHECK(found.certificate.is_null());
    return found.reach;
  }
  const auto verdict = check_certificate(found.certificate.dump(), "c.json");
  INFO(found.certificate.dump());
  INFO(verdict.reason);
  CHECK(verdict.verified);
  const bool positive = verdict.kind.starts_with("reachable_");
  CHECK(positive == (found.reach == Reach::reachable));
  return found.reach;
}

}  // namespace

TEST_CASE("attainable: the segment x/4 + y/8 = 1 is open at both ends") {
  const RationalMatrix values{{4, 0}, {0, 8}};
  CHECK(attainable(values, {3, 2}));
  CHECK(attainable(values, {1, 6}));
  CHECK(attainable(values, {2, 4}));
  CHECK_FALSE(attainable(values, {4, 0}));
  CHECK_FALSE(attainable(values, {0, 8}));
  CHECK_FALSE(attainable(values, {5, -2}));
  CHECK_FALSE(attainable(values, {3, 3}));
}

TEST_CASE("attainable: of a triangle the interior is attainable, its edges and corners are not") {
  const RationalMatrix values{{0, 0}, {3, 0}, {0, 3}};
  CHECK(attainable(values, {1, 1}));
  CHECK(attainable(values, {make_rational(1, 1000), make_rational(1, 1000)}));
  CHECK_FALSE(attainable(values, {1, 0}));
  CHECK_FALSE(attainable(values, {1, 2}));
  CHECK_FALSE(attainable(values, {0, 0}));
  CHECK_FALSE(attainable(values, {2, 2}));
}

TEST_CASE("attainable: a value inside the hull of the others is attainable itself") {
  const RationalMatrix square{{0, 0}, {2, 0}, {0, 2}, {2, 2}, {1, 1}};
  CHECK(attainable(square, {1, 1}));
  CHECK_FALSE(attainable(square, {1, 0}));
  CHECK(attainable({{0}, {1}, {2}}, {1}));
}

TEST_CASE("attainable: identical values, or a single one, reach themselves alone") {
  CHECK(attainable({{5, 7}}, {5, 7}));
  CHECK_FALSE(attainable({{5, 7}}, {5, 8}));
  CHECK(attainable({{5, 7}, {5, 7}, {5, 7}}, {5, 7}));
  CHECK_FALSE(attainable({{5, 7}, {5, 7}}, {4, 7}));
  CHECK(attainable({{0, 0}}, {0, 0}));
}

TEST_CASE("attainable: every positive mixture is, in any dimension") {
  for (const std::uint64_t seed : test::seeds(200)) {
    test::Random random(seed);
    const RationalMatrix values =
        random_rows(random, random.integer(1, 7), random.integer(1, 5), random.integer(1, 4));
    RationalVector weights;
    for (std::size_t j = 0; j < values.size(); ++j) {
      weights.push_back(make_rational(static_cast<long>(random.integer(1, 40)), 7));
    }
    CAPTURE(seed);
    CHECK(attainable(values, mixed(values, weights)));
  }
}

TEST_CASE("attainable: where weights are unique, exactly if all of them are positive") {
  std::size_t outside = 0;
  for (const std::uint64_t seed : test::seeds(300)) {
    test::Random random(seed);
    const std::int64_t count = random.integer(1, 4);
    const RationalMatrix values = random_rows(random, count, random.integer(count, 5), 5);
    RationalVector weights;
    Rational sum = 0;
    for (std::int64_t j = 0; j < count; ++j) {
      weights.emplace_back(static_cast<long>(random.integer(-1, 4)));
      sum += weights.back();
    }
    if (sum == 0) continue;
    RationalVector point = mixed(values, weights);
    if (random.one_in(4)) point[0] += random.small_rational();
    // An oracle of its own: Gaussian elimination instead of linear programming.
    Tensor<Rational> flat({count, static_cast<std::int64_t>(point.size())});
    for (std::size_t i = 0; i < flat.size(); ++i) {
      flat.data()[i] = values[i / point.size()][i % point.size()];
    }
    const MatrixView<const Rational> view(flat.data().data(), values.size(), point.size());
    CAPTURE(seed);
    try {
      const bool expected = is_attainable(affine_weights(view, point));
      outside += expected ? 0 : 1;
      CHECK(attainable(values, point) == expected);
    } catch (const InputError& error) {
      CHECK(error.code() == "segment.not_in_general_position");
    }
  }
  CHECK(outside > test::of_all_seeds(50));
}

TEST_CASE("attainable: on small grids, exactly the points that no direction separates") {
  // The oracle tries every integer direction of a grid fine enough for these coordinates.
  for (const std::uint64_t seed : test::seeds(60)) {
    test::Random random(seed);
    const RationalMatrix values = random_rows(random, random.integer(1, 6), 2, 2);
    const RationalVector point{Rational(static_cast<long>(random.integer(-2, 2))),
                               Rational(static_cast<long>(random.integer(-2, 2)))};
    bool separated = false;
    for (long a = -4; a <= 4; ++a) {
      for (long b = -4; b <= 4; ++b) {
        bool none_below = true, any_above = false;
        for (const RationalVector& value : values) {
          const Rational side = a * (value[0] - point[0]) + b * (value[1] - point[1]);
          none_below = none_below && side >= 0;
          any_above = any_above || side > 0;
        }
        separated = separated || (none_below && any_above);
      }
    }
    // All values at one place: the direction away from it.
    for (const RationalVector& value : values) {
      if (values.size() == 1) separated = separated || value != point;
    }
    CAPTURE(seed);
    CHECK(attainable(values, point) == !separated);
  }
}

TEST_CASE("attainable: sizes of real heads are decided") {
  test::Random random(7);
  const RationalMatrix values = random_rows(random, 64, 16, 1000);
  RationalVector inside = mixed(values, RationalVector(64, 1));
  CHECK(attainable(values, inside));
  for (Rational& x : inside) x *= 40;
  CHECK_FALSE(attainable(values, inside));
}

TEST_CASE("attainable: shapes that do not fit are refused at the field") {
  const auto refusal = [](const RationalMatrix& values, const RationalVector& point) {
    return test::refusal_of([&] { attainability(values, point); });
  };
  CHECK(refusal({}, {}) == "attain.shape at values");
  CHECK(refusal({{}}, {}) == "attain.shape at values");
  CHECK(refusal({{1, 2}, {1}}, {1, 2}) == "attain.shape at values");
  CHECK(refusal({{1, 2}}, {1}) == "attain.shape at point");
  CHECK(test::refusal_of([] {
          key_reachability({{1}, {2}}, {{1}}, {1});
        }) == "attain.shape at keys");
  CHECK(test::refusal_of([] { key_reachability({{1}}, {{}}, {1}); }) == "attain.shape at keys");
}

TEST_CASE("attainable with keys: independent keys allow every positive weighting") {
  const RationalMatrix values{{4, 0}, {0, 8}};
  CHECK(reach(values, {{1, 0}, {0, 1}}, {3, 2}) == Reach::reachable);
  CHECK(reach(values, {{1, 0}, {0, 1}}, {4, 0}) == Reach::unreachable);
  CHECK(reach(values, {{1}, {3}}, {1, 6}) == Reach::reachable);
  CHECK(reach({{0}, {1}, {2}}, {{1, 0}, {0, 1}, {0, 0}}, {make_rational(3, 2)}) ==
        Reach::reachable);
}

TEST_CASE("attainable with keys: equal keys give equal weights only") {
  const RationalMatrix values{{4, 0}, {0, 8}};
  CHECK(reach(values, {{1, 5}, {1, 5}}, {2, 4}) == Reach::reachable);
  CHECK(reach(values, {{1, 5}, {1, 5}}, {3, 2}) == Reach::unreachable);
}

TEST_CASE("attainable with keys: keys 0, 1, 2 reach the weights in geometric progression") {
  const RationalMatrix values{{0, 0}, {7, 0}, {0, 7}};
  const RationalMatrix keys{{0}, {1}, {2}};
  CHECK(reach(values, keys, {2, 4}) == Reach::reachable);    // weights 1/7, 2/7, 4/7
  CHECK(reach(values, keys, {2, 1}) == Reach::reachable);    // 4/7, 2/7, 1/7
  CHECK(reach(values, keys, {2, 2}) == Reach::unreachable);  // 3/7, 2/7, 2/7
  // Keys in another ratio: w0^2 w2 = w1^3.
  CHECK(reach(values, {{0}, {1}, {3}}, {2, 4}) == Reach::unreachable);
  // 1/11, 2/11, 8/11 = 2^0, 2^1, 2^3.
  CHECK(reach({{0, 0}, {11, 0}, {0, 11}}, {{0}, {1}, {3}}, {2, 8}) == Reach::reachable);
}

TEST_CASE("attainable with keys: what is beyond the stated limits stays undecided") {
  // Values on a line with equal keys: only the mean is reached, and weights are not unique.
  CHECK(reach({{0}, {1}, {2}}, {{1}, {1}, {1}}, {make_rational(3, 2)}) == Reach::unreachable);
  CHECK(reach({{0}, {1}, {2}}, {{1}, {1}, {1}}, {1}) == Reach::reachable);
  // Exponents of a million and more are not evaluated.
  const RationalMatrix far{{0}, {1}, {Rational(3'000'017)}};
  CHECK(reach({{0, 0}, {7, 0}, {0, 7}}, far, {2, 2}) == Reach::undecided);
}

TEST_CASE("attainable with keys: weightings on both sides of the one equation have one between") {
  // Keys 0, 1, 2, values 0, 5, 0: the output is 5 w1, at most 5/3, which the zero query gives.
  const RationalMatrix keys{{0}, {1}, {2}}, values{{0}, {5}, {0}};
  CHECK(reach(values, keys, {1}) == Reach::reachable);
  CHECK(reach(values, keys, {make_rational(5, 3)}) == Reach::reachable);
  CHECK(reach(values, keys, {make_rational(1, 1000)}) == Reach::reachable);
  CHECK(reach(values, keys, {2}) == Reach::unreachable);  // none does, which is not proved
}

TEST_CASE("attainable with keys: what is called reachable lies between outputs of some queries") {
  int reachable = 0, undecided = 0;
  for (const std::uint64_t seed : test::seeds(200)) {
    test::Random random(seed);
    const RationalMatrix keys = random_rows(random, 3, 1, 4), values = random_rows(random, 3, 1, 9);
    const RationalVector point{make_rational(static_cast<long>(random.integer(-30, 30)), 4)};
    CAPTURE(seed);
    const Reach answer = reach(values, keys, point);
    undecided += answer == Reach::undecided ? 1 : 0;
    if (answer != Reach::reachable) continue;
    ++reachable;
    // The outputs of many queries, in binary64: the point is not beyond them.
    double least = 1e9, most = -1e9;
    for (double q = -30; q <= 30; q += 0x1p-6) {
      double total = 0, sum = 0;
      for (std::size_t j = 0; j < 3; ++j) {
        const double w = std::exp(q * (keys[j][0].get_d() - keys[0][0].get_d()));
        total += w;
        sum += w * values[j][0].get_d();
      }
      least = std::min(least, sum / total);
      most = std::max(most, sum / total);
    }
    CHECK(least <= point[0].get_d() + 1e-3);
    CHECK(most >= point[0].get_d() - 1e-3);
  }
  CHECK(reachable > test::of_all_seeds(40));
  CHECK(undecided < 60);
}

TEST_CASE("attainable with keys: what a query gives is reachable") {
  for (const std::uint64_t seed : test::seeds(150)) {
    test::Random random(seed);
    const std::int64_t count = random.integer(1, 4);
    const std::int64_t key_size = random.integer(1, 3);
    const RationalMatrix keys = random_rows(random, count, key_size, 3);
    RationalMatrix values = random_rows(random, count, count, 3);
    for (std::size_t j = 0; j < values.size(); ++j) values[j][j] += 20;  // independent
    RationalVector strengths;
    for (const RationalVector& key : keys) {
      // The query (ln 2, ln 3, ln 1/5).
      const Rational bases[] = {2, 3, make_rational(1, 5)};
      Rational strength = 1;
      for (std::size_t c = 0; c < key.size(); ++c) {
        for (Rational k = abs(key[c]); k > 0; k -= 1) {
          strength = key[c] > 0 ? Rational(strength * bases[c]) : Rational(strength / bases[c]);
        }
      }
      strengths.push_back(strength);
    }
    CAPTURE(seed);
    CHECK(reach(values, keys, mixed(values, strengths)) == Reach::reachable);
  }
}

TEST_CASE("attainable with keys: the worked questions of one coordinate are decided") {
  const RationalMatrix three{{0}, {1}, {2}}, four{{0}, {1}, {2}, {3}}, middle{{0}, {1}, {0}};
  // y / (1 + y + y^2) is at most 1/3.
  CHECK(reach(middle, three, {make_rational(1, 2)}) == Reach::unreachable);
  CHECK(reach(middle, three, {make_rational(1, 3)}) == Reach::reachable);
  CHECK(reach(middle, three, {make_rational(333334, 1000000)}) == Reach::unreachable);
  CHECK(reach(middle, three, {make_rational(333333, 1000000)}) == Reach::reachable);
  CHECK(reach(four, four, {1}) == Reach::reachable);
  // A double root: the maximum of y^2 / (1 + y^4 + 2 y^2), 1/4, at y = 1 alone.
  CHECK(reach({{0}, {2}, {0}}, {{0}, {2}, {4}}, {make_rational(2, 3)}) == Reach::reachable);
  CHECK(reach({{0}, {1}, {0}, {0}, {0}}, {{0}, {2}, {4}, {2}, {1}}, {make_rational(1, 2)}) ==
        Reach::unreachable);
}

TEST_CASE("attainable with keys: random questions of one coordinate are all decided") {
  int reachable = 0, unreachable = 0;
  for (const std::uint64_t seed : test::seeds(1000)) {
    CAPTURE(seed);
    test::Random random(seed);
    const std::int64_t count = random.integer(3, 6), size = random.integer(1, 2);
    const RationalMatrix values = random_rows(random, count, size, 4);
    const RationalMatrix keys = random_rows(random, count, 1, 5);
    // Half of the points are outputs of the query ln y, the others any positive mixture.
    const bool of_query = random.integer(0, 1) == 0;
    const Rational base = make_rational(random.integer(1, 5), random.integer(1, 5));
    RationalVector weights;
    for (const RationalVector& key : keys) {
      Rational strength = static_cast<long>(random.integer(1, 9));
      if (of_query) {
        strength = 1;
        for (Rational k = 0; k < abs(key[0]); k += 1) {
          strength = key[0] > 0 ? Rational(strength * base) : Rational(strength / base);
        }
      }
      weights.push_back(strength);
    }
    const Reach found = reach(values, keys, mixed(values, weights));
    CHECK(found != Reach::undecided);
    if (of_query) CHECK(found == Reach::reachable);
    ++(found == Reach::reachable ? reachable : unreachable);
  }
  MESSAGE(reachable << " reachable, " << unreachable << " not");
  CHECK(std::min(reachable, unreachable) > test::of_all_seeds(100));
}
