#include <doctest/doctest.h>

#include <array>

#include "gqa/attention/attention.hpp"
#include "gqa/exact/merge.hpp"
#include "gqa/exact/rotary.hpp"
#include "support/random.hpp"

using namespace gqa;

namespace {

Rational dot(std::span<const Rational> a, std::span<const Rational> b) {
  Rational sum = 0;
  for (std::size_t c = 0; c < a.size(); ++c) sum += a[c] * b[c];
  return sum;
}

std::vector<Rational> rotated(std::vector<Rational> row,
                              const std::vector<RationalRotation>& rotations,
                              std::int64_t position) {
  rotate_rows(MatrixView<Rational>(row.data(), 1, row.size()), rotations, std::array{position});
  return row;
}

}  // namespace

TEST_CASE("rotation: Pythagorean triples lie on the circle, powers add") {
  const RationalRotation r = RationalRotation::pythagorean(2, 1);
  CHECK(r.cosine == make_rational(3, 5));
  CHECK(r.sine == make_rational(4, 5));
  for (std::int64_t n = -6; n <= 6; ++n) {
    const RationalRotation turned = r.power(n);
    CHECK(Rational(turned.cosine * turned.cosine + turned.sine * turned.sine) == 1);
    for (std::int64_t m = -6; m <= 6; ++m) CHECK(r.power(m) * turned == r.power(m + n));
  }
  CHECK(r.power(0) == RationalRotation{});
}

TEST_CASE("rotary: scores depend on the distance of positions alone") {
  for (const std::uint64_t seed : test::seeds(20)) {
    CAPTURE(seed);
    test::Random random(seed);
    const std::vector<RationalRotation> rotations{
        RationalRotation::pythagorean(static_cast<long>(random.integer(2, 9)), 1),
        RationalRotation::pythagorean(static_cast<long>(random.integer(3, 9)), 2)};
    std::vector<Rational> query, key;
    for (int c = 0; c < 4; ++c) {
      query.push_back(random.small_rational());
      key.push_back(random.small_rational());
    }
    for (std::int64_t distance = -3; distance <= 3; ++distance) {
      const Rational expected = dot(rotated(query, rotations, distance), key);
      for (const std::int64_t at : {0, 1, 7, 40}) {
        CHECK(dot(rotated(query, rotations, at + distance), rotated(key, rotations, at)) ==
              expected);
      }
    }
  }
}

TEST_CASE("merge and online softmax: every split gives the one-pass result exactly") {
  for (const std::uint64_t seed : test::seeds(40)) {
    CAPTURE(seed);
    test::Random random(seed);
    const std::int64_t keys = random.integer(1, 9);
    Problem<GmpNumbers> problem;
    problem.value = Tensor<Rational>({1, 1, keys, 3});
    problem.strengths = Tensor<Rational>({1, 1, 1, keys});
    for (Rational& v : problem.value.data()) v = random.small_rational();
    for (Rational& a : problem.strengths->data()) {
      a = abs(random.small_rational()) + make_rational(1, 7);
    }
    // The definition's output: one pass.
    const std::vector<Rational> expected = attention(problem).output.data();
    const std::span<const Rational> strengths(problem.strengths->data());
    const auto values = std::as_const(problem.value).matrix(0, 0);
    const auto n = static_cast<std::size_t>(keys);
    for (std::size_t a = 0; a <= n; ++a) {
      for (std::size_t b = a; b <= n; ++b) {
        const auto first = attend_part(strengths, values, 0, a);
        const auto second = attend_part(strengths, values, a, b);
        const auto third = attend_part(strengths, values, b, n);
        CHECK(merge(merge(first, second), third).output == expected);
        CHECK(merge(first, merge(second, third)).output == expected);
      }
    }
    for (std::size_t tile = 1; tile <= n + 1; ++tile) {
      CHECK(online_softmax(strengths, values, tile) == expected);
    }
  }
}
