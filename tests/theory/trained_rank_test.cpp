#include "gqa/theory/trained_rank.hpp"

#include <doctest/doctest.h>

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
