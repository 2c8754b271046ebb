// Counts of small values, against counting them.
#include "gqa/audit/filter/small_values.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "gqa/attention/encoded_tensor.hpp"
#include "support/random.hpp"

using namespace gqa;

namespace {

// Values of every size, zeros and what is not finite among them.
std::vector<double> random_values(test::Random& random, std::size_t count) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::vector<double> values(count);
  for (double& value : values) {
    value = std::ldexp(random.normal(), static_cast<int>(random.integer(-50, 30)));
    if (random.one_in(12)) value = random.pick({0.0, -0.0, infinity, std::nan(""), 0x1p-1060, 1.0});
  }
  return values;
}

// As if that were all of it: the sizes are what is asked for.
AttentionProblem problem_of(const std::vector<double>& values, std::int64_t keys,
                            std::int64_t columns) {
  ProblemTensors tensors;
  tensors.query = encoded_tensor(ElementType::binary64, {1, 2, 1, 1}, {1, 1});
  tensors.key = encoded_tensor(ElementType::binary64, {1, 2, keys, 1},
                               std::vector<double>(static_cast<std::size_t>(2 * keys), 1));
  tensors.value = encoded_tensor(ElementType::binary64, {1, 2, keys, columns}, values);
  tensors.output = encoded_tensor(ElementType::binary64, {1, 2, 1, columns},
                                  std::vector<double>(static_cast<std::size_t>(2 * columns), 0));
  return make_problem(tensors, Contract{});
}

}  // namespace

TEST_CASE("small values: never fewer than there are below a bound, and none of twice the bound") {
  for (const std::uint64_t seed : test::seeds(20)) {
    test::Random random(seed);
    CAPTURE(seed);
    const std::int64_t keys = random.integer(1, 600), columns = random.integer(1, 5);
    const auto values = random_values(random, static_cast<std::size_t>(2 * keys * columns));
    const AttentionProblem problem = problem_of(values, keys, columns);
    for (std::int64_t head = 0; head < 2; ++head) {
      const SmallValues small(problem, 0, head);
      for (int trial = 0; trial < 50; ++trial) {
        const std::int64_t column = random.integer(0, columns - 1);
        const double bound =
            std::ldexp(random.uniform(0.5, 1), static_cast<int>(random.integer(-60, 40)));
        std::int64_t below = 0, below_twice = 0;
        for (std::int64_t j = 0; j < keys; ++j) {
          const auto at = static_cast<std::size_t>((head * keys + j) * columns + column);
          const double size = std::abs(values[at]);
          // The smallest exponents that are told apart, and the largest.
          const bool is_anywhere = !(size < 0x1p23) || bound < 0x1p-39;
          below += size < bound || !std::isfinite(size);
          below_twice += size < 2 * bound || is_anywhere;
        }
        CAPTURE(head);
        CAPTURE(column);
        CAPTURE(bound);
        CHECK(small.count_below(column, bound) >= below);
        CHECK(small.count_below(column, bound) <= below_twice);
      }
    }
  }
}
