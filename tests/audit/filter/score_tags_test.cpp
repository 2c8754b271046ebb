#include "gqa/audit/filter/score_tags.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/random.hpp"

using namespace gqa;

namespace {

std::int64_t most_equal(const std::vector<double>& scores) {
  ScoreTags tags;
  std::vector<std::uint64_t> scratch;
  tags.add(scores.data(), scores.size());
  return tags.most_equal(scratch);
}

}  // namespace

TEST_CASE("score_tags: equal scores, each off by a little, are never counted as too few") {
  for (const std::uint64_t seed : test::seeds(300)) {
    test::Random random(seed);
    CAPTURE(seed);
    std::vector<double> scores;
    for (int j = 0; j < 500; ++j) scores.push_back(3 * random.normal());
    const auto copies = static_cast<int>(random.integer(2, 9));
    // Close to the border of two cells, too.
    const double cell = 0x1p-29;
    const double centre =
        random.one_in(2) ? 3 * random.normal() : (std::floor(random.normal() / cell) + 0.5) * cell;
    for (int i = 0; i < copies; ++i) {
      scores.push_back(centre + random.uniform(-1, 1) * ScoreTags::largest_radius);
    }
    CAPTURE(centre);
    CHECK(most_equal(scores) >= copies);
  }
}

TEST_CASE("score_tags: scores that differ are told apart, and hidden ones are not counted") {
  test::Random random(1);
  int different = 0;
  for (int i = 0; i < 100; ++i) {
    std::vector<double> scores;
    for (int j = 0; j < 500; ++j) scores.push_back(random.normal());
    different += most_equal(scores) == 1 ? 1 : 0;
  }
  CHECK(different > 95);
  CHECK(most_equal(std::vector<double>(7, -std::numeric_limits<double>::infinity())) == 0);
  CHECK(most_equal(std::vector<double>(700, 0.25)) == 700);
}

TEST_CASE("score_tags: parts of a row are joined") {
  ScoreTags first, second;
  const std::vector<double> scores = {1, 2, 3};
  first.add(scores.data(), 3);
  second.add(scores.data(), 2);
  first.join(second);
  first.join(ScoreTags());
  std::vector<std::uint64_t> scratch;
  CHECK(first.most_equal(scratch) == 2);
}
