#include "gqa/theory/trained_rank.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "support/errors.hpp"
#include "support/typed.hpp"

using namespace gqa;

namespace {

Tensor<Ball> balls(std::int64_t n, const std::vector<int>& entries) {
  Tensor<Ball> result({1, 1, n, n});
  for (std::size_t i = 0; i < entries.size(); ++i) result.data()[i] = Ball(entries[i]);
  return result;
}

}  // namespace

TEST_CASE("spectrum: a diagonal matrix has the ratios of its entries") {
  // tr = 7, tr of the square = 21, largest 4.
  const Spectrum found = spectrum(balls(3, {1, 0, 0, 0, 4, 0, 0, 0, 2}));
  CHECK(found.positive_definite);
  CHECK(found.participation_ratio.contains(make_rational(49, 21)));
  CHECK(found.stable_rank.contains(make_rational(7, 4)));
  CHECK(found.stable_rank.upper() - found.stable_rank.lower() < power_of_two(-36));
}

TEST_CASE("spectrum: the largest eigenvalue of a full matrix is enclosed") {
  // [[2, 1], [1, 2]]: eigenvalues 3 and 1.
  const Spectrum found = spectrum(balls(2, {2, 1, 1, 2}));
  CHECK(found.positive_definite);
  CHECK(found.stable_rank.contains(make_rational(4, 3)));
  CHECK(found.participation_ratio.contains(make_rational(16, 10)));
}

TEST_CASE("spectrum: two equal leading eigenvalues are no obstacle") {
  const Spectrum found = spectrum(balls(2, {5, 0, 0, 5}));
  CHECK(found.stable_rank.contains(Rational(2)));
}

TEST_CASE("spectrum: a singular matrix is not called positive definite") {
  CHECK_FALSE(spectrum(balls(2, {1, 1, 1, 1})).positive_definite);
  CHECK_FALSE(spectrum(balls(2, {0, 0, 0, 0})).positive_definite);
  CHECK_FALSE(spectrum(balls(2, {0, 0, 0, 0})).stable_rank.is_finite());
}

TEST_CASE("spectrum: a matrix that is only enclosed gives ratios that enclose") {
  Tensor<Ball> wide = balls(2, {4, 0, 0, 1});
  wide.data()[0] = Ball::with_radius(4, 0x1p-50);
  const Spectrum found = spectrum(wide);
  CHECK(found.stable_rank.contains(make_rational(5, 4)));
  const Rational high = Rational(4) + power_of_two(-50);
  CHECK(found.stable_rank.contains(Rational((high + 1) / high)));
}

TEST_CASE("spectrum: eigenvalues too close to be told apart are still enclosed") {
  // [[a, 1], [1, a]]: a + 1 and a - 1, which squaring does not separate at a = 2^60.
  const Rational a = power_of_two(60);
  Tensor<Ball> close = balls(2, {0, 1, 1, 0});
  close.data()[0] = close.data()[3] = Ball(a);
  const Spectrum found = spectrum(close);
  CHECK(found.positive_definite);
  CHECK(found.stable_rank.contains(Rational(2 * a / (a + 1))));
}

namespace {

// One head of two value coordinates on two keys; zero queries, so that row i is the mean of the
// keys it may see.
ProblemTensors two_positions(const std::vector<float>& values, const std::vector<float>& output) {
  ProblemTensors tensors;
  tensors.query = test::tensor_of({1, 1, 2, 1}, {0, 0});
  tensors.key = test::tensor_of({1, 1, 2, 1}, {1, 1});
  tensors.value = test::tensor_of({1, 1, 2, 2}, values);
  tensors.output = test::tensor_of({1, 1, 2, 2}, output);
  return tensors;
}

Contract causal() {
  Contract contract;
  contract.causal = true;
  return contract;
}

}  // namespace

TEST_CASE("recorded ranks: a group by hand, with and without an output projection") {
  // C = ((2, 0), (1, 1)), A = ((5, 1), (1, 1)): tr 6, tr of the square 28.
  const auto problem = make_problem(two_positions({2, 0, 0, 2}, {2, 0, 1, 1}), causal());
  const std::vector<GroupRank> plain = group_ranks(problem);
  REQUIRE(plain.size() == 1);
  CHECK(plain[0].certified());
  CHECK(plain[0].certified_rank == 2);
  CHECK(plain[0].recorded_rank == 2);
  CHECK(plain[0].participation_ratio.contains(make_rational(36, 28)));
  // Wo = ((1, 1), (0, 2), (0, 0)): C Wo^T = ((2, 0, 0), (2, 2, 0)).
  const Tensor<double> projection({3, 2}, std::vector<double>{1, 1, 0, 2, 0, 0});
  const std::vector<GroupRank> projected = group_ranks(problem, &projection);
  CHECK(projected[0].certified());
  CHECK(projected[0].recorded_rank == 2);
  // A = ((8, 4), (4, 4)): tr 12, tr of the square 64 + 16 + 16 + 16 = 112.
  CHECK(projected[0].participation_ratio.contains(make_rational(144, 112)));
}

TEST_CASE("recorded ranks: a group of less than full rank is not called certified") {
  const auto problem = make_problem(two_positions({2, 4, 1, 2}, {2, 4, 1, 2}), causal());
  const std::vector<GroupRank> ranks = group_ranks(problem);
  CHECK(ranks[0].certified_rank == 0);
  CHECK(ranks[0].recorded_rank == 1);
  CHECK_FALSE(ranks[0].certified());
  // A projection of rank 1 cannot keep rank 2.
  const auto full = make_problem(two_positions({2, 0, 0, 2}, {2, 0, 1, 1}), causal());
  const Tensor<double> narrow({1, 2}, std::vector<double>{1, 1});
  CHECK_FALSE(group_ranks(full, &narrow)[0].certified());
}

TEST_CASE("recorded ranks: what is not covered is refused by name") {
  const ProblemTensors tensors = two_positions({2, 0, 0, 2}, {2, 0, 1, 1});
  const auto refusal = [](const ProblemTensors& t, const Tensor<double>* projection = nullptr) {
    return test::refusal_of([&] { group_ranks(make_problem(t, causal()), projection); });
  };
  ProblemTensors biased = tensors;
  biased.attn_mask = test::tensor_of({2, 2}, {0, 0, 1, 0});
  CHECK(refusal(biased) == "rank.bias at attn_mask");
  ProblemTensors sloped = tensors;
  sloped.alibi_slopes = test::tensor_of({1}, {0.5F});
  CHECK(refusal(sloped) == "rank.bias at alibi_slopes");
  CHECK(refusal(two_positions({2, 0, 0, std::numeric_limits<float>::infinity()}, {2, 0, 1, 1})) ==
        "rank.not_finite at value");
  const Tensor<double> wrong({3, 3}, 1.0);
  CHECK(refusal(tensors, &wrong) == "rank.projection_shape at output_projection");
}
