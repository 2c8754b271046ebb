#include "gqa/theory/modular_matrix.hpp"

#include <doctest/doctest.h>

#include "gqa/theory/rational_rank.hpp"
#include "support/random.hpp"

using namespace gqa;

namespace {

// A product of two random factors: rank at most `inner`.
Tensor<Rational> random_matrix(test::Random& random, std::int64_t rows, std::int64_t columns,
                               std::int64_t inner) {
  Tensor<Rational> result({1, 1, rows, columns});
  std::vector<Rational> left, right;
  for (std::int64_t i = 0; i < rows * inner; ++i) left.push_back(random.small_rational());
  for (std::int64_t i = 0; i < inner * columns; ++i) right.push_back(random.small_rational());
  for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r) {
    for (std::size_t c = 0; c < static_cast<std::size_t>(columns); ++c) {
      for (std::size_t k = 0; k < static_cast<std::size_t>(inner); ++k) {
        result.matrix(0, 0)(r, c) += left[r * static_cast<std::size_t>(inner) + k] *
                                     right[k * static_cast<std::size_t>(columns) + c];
      }
    }
  }
  return result;
}

// By Gauss elimination with mpq alone: an oracle without FLINT.
std::size_t eliminated_rank(Tensor<Rational> m) {
  const auto a = m.matrix(0, 0);
  std::size_t rank = 0;
  for (std::size_t c = 0; c < a.columns() && rank < a.rows(); ++c) {
    std::size_t pivot = rank;
    while (pivot < a.rows() && a(pivot, c) == 0) ++pivot;
    if (pivot == a.rows()) continue;
    for (std::size_t k = 0; k < a.columns(); ++k) std::swap(a(pivot, k), a(rank, k));
    for (std::size_t r = rank + 1; r < a.rows(); ++r) {
      const Rational factor = a(r, c) / a(rank, c);
      for (std::size_t k = c; k < a.columns(); ++k) a(r, k) -= factor * a(rank, k);
    }
    ++rank;
  }
  return rank;
}

}  // namespace

TEST_CASE("rational rank: FLINT agrees with plain elimination, and its factors give the matrix") {
  for (const std::uint64_t seed : test::seeds(60)) {
    CAPTURE(seed);
    test::Random random(seed);
    const std::int64_t rows = random.integer(1, 7), columns = random.integer(1, 7);
    const Tensor<Rational> m = random_matrix(random, rows, columns, random.integer(0, 5));
    const std::size_t expected = eliminated_rank(m);
    CHECK(rational_rank(m.matrix(0, 0)) == expected);
    const RankFactors factors = rank_factors(m.matrix(0, 0));
    CHECK(factors.rank() == expected);
    for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r) {
      for (std::size_t c = 0; c < static_cast<std::size_t>(columns); ++c) {
        Rational sum = 0;
        for (std::size_t k = 0; k < expected; ++k) {
          sum += factors.left.data()[r * expected + k] *
                 factors.right.data()[k * static_cast<std::size_t>(columns) + c];
        }
        CHECK(sum == m.matrix(0, 0)(r, c));
      }
    }
  }
}

TEST_CASE("modular rank: never above the rational rank, and its minor is not zero") {
  for (const std::uint64_t seed : test::seeds(60)) {
    CAPTURE(seed);
    test::Random random(seed);
    const Tensor<Rational> m =
        random_matrix(random, random.integer(1, 7), random.integer(1, 7), random.integer(0, 5));
    const std::size_t expected = eliminated_rank(m);
    for (const std::uint64_t prime : {std::uint64_t{11}, std::uint64_t{13}, rank_prime}) {
      CAPTURE(prime);
      const auto reduced = reduce(m.matrix(0, 0), prime);
      if (!reduced) continue;
      CHECK(reduced->rank() <= expected);
      const ModularMinor minor = largest_minor(*reduced);
      CHECK(minor.rows.size() == reduced->rank());
      CHECK(minor.columns.size() == reduced->rank());
      CHECK(minor.determinant != 0);
    }
    CHECK(reduce(m.matrix(0, 0))->rank() == expected);
  }
}

TEST_CASE("modular rank: a prime that divides the determinant loses a rank") {
  const std::vector<Rational> m{3, 1, 2, 5};  // determinant 13
  const MatrixView<const Rational> view(m.data(), 2, 2);
  CHECK(reduce(view, 13)->rank() == 1);
  CHECK(reduce(view, 11)->rank() == 2);
}

TEST_CASE("modular matrix: a prime in a denominator gives no matrix") {
  const std::vector<Rational> m{make_rational(1, 7)};
  const MatrixView<const Rational> view(m.data(), 1, 1);
  CHECK_FALSE(reduce(view, 7).has_value());
  CHECK((*reduce(view, 5))(0, 0) == 3);  // 7 * 3 = 1 modulo 5
}

TEST_CASE("modular matrix: residues of negative numbers are positive") {
  CHECK(residue(std::int64_t{-1}, 7) == 6);
  CHECK(residue(std::int64_t{-14}, 7) == 0);
  CHECK(*residue(make_rational(-1, 2), 7) == 3);
  CHECK_FALSE(inverse_modulo(14, 7).has_value());
}
