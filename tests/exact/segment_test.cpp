#include "gqa/exact/segment.hpp"

#include <doctest/doctest.h>

#include "support/errors.hpp"
#include "support/random.hpp"

using namespace gqa;
using gqa::test::refusal_of;
using Point = std::vector<Rational>;

namespace {

Rational half(long numerator) {
  return make_rational(numerator, 2);
}

MatrixView<const Rational> as_rows(const Point& flat, std::size_t rows) {
  return {flat.data(), rows, flat.size() / rows};
}

}  // namespace

TEST_CASE("segment: outputs of (4,0) and (0,8) lie on x/4 + y/8 = 1, the ends not included") {
  const Point first{4, 0};
  const Point second{0, 8};
  CHECK(*line_weight(first, second, Point{3, 2}) == make_rational(3, 4));
  CHECK(*line_weight(first, second, Point{1, 6}) == make_rational(1, 4));
  CHECK(on_open_segment(first, second, Point{3, 2}));
  CHECK(on_open_segment(first, second, Point{2, 4}));
  CHECK_FALSE(on_open_segment(first, second, first));
  CHECK_FALSE(on_open_segment(first, second, second));
  CHECK_FALSE(on_open_segment(first, second, Point{5, -2}));
  CHECK_FALSE(on_open_segment(first, second, Point{-1, 10}));
  CHECK_FALSE(on_open_segment(first, second, Point{3, 3}));
  CHECK_FALSE(line_weight(first, second, Point{3, 3}).has_value());
}

TEST_CASE("segment: a coordinate that both values share must be the point's, too") {
  CHECK(on_open_segment(Point{1, 7}, Point{3, 7}, Point{2, 7}));
  CHECK_FALSE(on_open_segment(Point{1, 7}, Point{3, 7}, Point{2, 8}));
}

TEST_CASE("segment: one tiny step inside an end is attainable, the end is not") {
  const Rational tiny = power_of_two(-200);
  CHECK(on_open_segment(Point{0}, Point{1}, Point{tiny}));
  CHECK(on_open_segment(Point{0}, Point{1}, Point{Rational(1 - tiny)}));
  CHECK_FALSE(on_open_segment(Point{0}, Point{1}, Point{Rational(-tiny)}));
}

TEST_CASE("segment: coinciding values and sizes that differ are refused") {
  CHECK(refusal_of([] {
          line_weight(Point{5, 7}, Point{5, 7}, Point{5, 7});
        }) == "segment.not_in_general_position at segment");
  CHECK(refusal_of([] {
          line_weight(Point{1}, Point{1, 2}, Point{1});
        }) == "segment.shape at segment");
  CHECK(refusal_of([] {
          line_weight(Point{1}, Point{2}, Point{1, 2});
        }) == "segment.shape at segment");
  CHECK(refusal_of([] { line_weight(Point{}, Point{}, Point{}); }) == "segment.shape at segment");
}

TEST_CASE("segment: weights found are the weights mixed, for affinely independent values") {
  int checked = 0;
  for (const std::uint64_t seed : test::seeds(200)) {
    test::Random random(seed);
    const auto rows = static_cast<std::size_t>(random.integer(1, 4));
    const auto columns = static_cast<std::size_t>(random.integer(1, 5));
    if (columns + 1 < rows) continue;
    Point values;
    for (std::size_t i = 0; i < rows * columns; ++i) values.push_back(random.small_rational());
    Point weights;
    Rational last = 1;
    for (std::size_t j = 0; j + 1 < rows; ++j) {
      weights.push_back(random.small_rational() / 10);
      last -= weights.back();
    }
    weights.push_back(last);
    Point point(columns);
    for (std::size_t j = 0; j < rows; ++j) {
      for (std::size_t c = 0; c < columns; ++c) point[c] += weights[j] * values[j * columns + c];
    }
    CAPTURE(seed);
    std::optional<Point> found;
    try {
      found = affine_weights(as_rows(values, rows), point);
    } catch (const InputError& error) {
      CHECK(error.code() == "segment.not_in_general_position");
      continue;
    }
    REQUIRE(found.has_value());
    CHECK(*found == weights);
    CHECK(is_attainable(found) ==
          std::ranges::all_of(weights, [](const Rational& w) { return w > 0; }));
    ++checked;
  }
  CHECK(checked > test::of_all_seeds(50));
}

TEST_CASE("segment: a point off the affine hull has no weights and is not attainable") {
  const Point triangle{0, 0, 0, 1, 0, 0, 0, 1, 0};
  CHECK_FALSE(affine_weights(as_rows(triangle, 3), Point{0, 0, 1}).has_value());
  CHECK_FALSE(is_attainable(affine_weights(as_rows(triangle, 3), Point{0, 0, 1})));
  CHECK(is_attainable(
      affine_weights(as_rows(triangle, 3), Point{make_rational(1, 3), make_rational(1, 3), 0})));
  // On an edge: weight zero.
  CHECK_FALSE(is_attainable(affine_weights(as_rows(triangle, 3), Point{half(1), half(1), 0})));
  CHECK_FALSE(is_attainable(std::nullopt));
}

TEST_CASE("segment: a single value attains itself and nothing else") {
  CHECK(is_attainable(affine_weights(as_rows(Point{5, 7}, 1), Point{5, 7})));
  CHECK_FALSE(affine_weights(as_rows(Point{5, 7}, 1), Point{5, 8}).has_value());
}

TEST_CASE("segment: affinely dependent values and wrong sizes are refused at values") {
  const Point on_a_line{0, 0, 1, 1, 2, 2};
  CHECK(refusal_of([&] {
          affine_weights(as_rows(on_a_line, 3), Point{1, 1});
        }) == "segment.not_in_general_position at values");
  CHECK(refusal_of([&] { affine_weights(as_rows(on_a_line, 3), Point{1}); }) ==
        "segment.shape at values");
  CHECK(refusal_of([&] { affine_weights(MatrixView<const Rational>(), Point{}); }) ==
        "segment.shape at values");
}
