#include "gqa/audit/models/equal_classes.hpp"

#include <doctest/doctest.h>

using namespace gqa;

namespace {

using Labels = std::vector<std::int64_t>;
using Classes = std::vector<EqualClass>;

}  // namespace

TEST_CASE("equal_classes: two or more with one label, in the order of their first") {
  CHECK(classes_of(Labels{5, 2, 5, 7, 2, 5}) == Classes{{0, 2, 5}, {1, 4}});
  CHECK(classes_of(Labels{1, 2, 3}).empty());
  CHECK(squared_sizes(classes_of(Labels{5, 2, 5, 7, 2, 5})) == 13);
}

TEST_CASE("equal_classes: equal keys count where their scores are no class of their own") {
  const Labels scores = {1, 1, 2, 2, 2, 3, 4};
  const Labels keys = {1, 1, 2, 2, 5, 6, 6};  // one class, part of one, and told apart by a bias
  const EqualClasses classes = equal_classes(scores, keys);
  CHECK(classes.scores == Classes{{0, 1}, {2, 3, 4}});
  CHECK(classes.keys == Classes{{2, 3}, {5, 6}});
}

TEST_CASE("equal_classes: equal numbers among some, zeros of either sign being one") {
  const std::vector<double> numbers = {0.0, 1, -0.0, 1, 2, 1};
  CHECK(equal_numbers({0, 1, 2, 3, 4}, numbers).size() == 2);
  CHECK(equal_numbers({1, 4}, numbers).empty());
  CHECK(squared_sizes(equal_numbers({1, 3, 5, 4}, numbers)) == 9);
}

TEST_CASE("equal_classes: enclosures that do not tell numbers apart have one label") {
  const Ball third = Ball(1) / Ball(3);
  const Labels labels = labels_of_enclosed({third, Ball(2), Ball(1) - third - third, Ball(0)});
  CHECK(labels[0] == labels[2]);
  CHECK(labels[0] != labels[1]);
  CHECK(labels[0] != labels[3]);
  CHECK(labels[1] != labels[3]);
}
