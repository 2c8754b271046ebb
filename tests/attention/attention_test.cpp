#include "gqa/attention/attention.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "support/errors.hpp"
#include "support/random_problem.hpp"

using namespace gqa;
using gqa::test::random_exact_problem;
using gqa::test::to_problem;
using gqa::test::to_tensor;

namespace {

// Scores of random problems stay below this, so that floats lose few digits.
constexpr double float_tolerance = 1e-12;

template <class N>
std::vector<char> flat_empty(const oracle::Result<N>& result) {
  std::vector<char> flat;
  for (const auto& batch : result.empty) {
    for (const auto& head : batch) flat.insert(flat.end(), head.begin(), head.end());
  }
  return flat;
}

// Stipulated strengths as logarithms do not exist in floats: the exact system takes them as
// they are, and so does every other.
template <class T>
double largest_difference(const Tensor<T>& output, const Tensor<Rational>& exact) {
  double largest = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const T difference = output.data()[i] - test::convert<T>(to_boost(exact.data()[i]));
    const double magnitude = std::abs(static_cast<double>(difference));
    // NaN must not look like a small difference.
    if (!(magnitude <= largest)) largest = magnitude;
  }
  return largest;
}

// q = sqrt(2) (ln 3, 0) at keys (1,0), (0,1) after scaling by 1/sqrt(2): weights 3/4, 1/4.
Problem<GmpNumbers> two_queries_one_history() {
  Problem<GmpNumbers> problem;
  const LogRational ln3 = LogRational::log_of(3);
  problem.query = Tensor<LogRational>({1, 2, 1, 2}, {ln3, {}, {}, ln3});
  problem.key = Tensor<Rational>({1, 1, 2, 2}, {1, 0, 0, 1});
  problem.value = Tensor<Rational>({1, 1, 2, 2}, {4, 0, 0, 8});
  return problem;
}

}  // namespace

TEST_CASE("attention: two queries read one history in the proportions 3:1 and 1:3") {
  const auto result = attention(two_queries_one_history());
  CHECK(result.output.data() == std::vector<Rational>{3, 2, 1, 6});
  CHECK(result.weights.data() == std::vector<Rational>{make_rational(3, 4), make_rational(1, 4),
                                                       make_rational(1, 4), make_rational(3, 4)});
  CHECK(result.empty == std::vector<char>{0, 0});
}

TEST_CASE("attention: both exact engines equal the naive oracle on random problems") {
  for (const std::uint64_t seed : test::seeds(400)) {
    test::Random random(seed);
    const oracle::ExactProblem problem = random_exact_problem(random);
    const auto expected = oracle::attend(problem);
    const auto gmp = attention(to_problem<GmpNumbers>(problem));
    const auto boost = attention(to_problem<BoostNumbers>(problem));
    CAPTURE(seed);
    CHECK(gmp.output == to_tensor<Rational>(expected.output));
    CHECK(gmp.weights == to_tensor<Rational>(expected.weights));
    CHECK(gmp.empty == flat_empty(expected));
    CHECK(boost.output == to_tensor<BoostRational>(expected.output));
    CHECK(boost.weights == to_tensor<BoostRational>(expected.weights));
    CHECK(boost.empty == flat_empty(expected));
  }
}

TEST_CASE("attention: floats and balls agree with the exact outputs on random problems") {
  for (const std::uint64_t seed : test::seeds(150)) {
    test::Random random(seed);
    const oracle::ExactProblem problem = random_exact_problem(random);
    const auto exact = to_tensor<Rational>(oracle::attend(problem).output);
    CAPTURE(seed);
    CHECK(largest_difference(attention(to_problem<DoubleNumbers>(problem)).output, exact) <
          float_tolerance);
    CHECK(largest_difference(attention(to_problem<LongDoubleNumbers>(problem)).output, exact) <
          float_tolerance * 1e-3);
    CHECK(largest_difference(attention(to_problem<Float50Numbers>(problem)).output, exact) < 1e-45);
    for (const long bits : {30L, 53L, 128L}) {
      CAPTURE(bits);
      const PrecisionScope precision(bits);
      const auto balls = attention(to_problem<BallNumbers>(problem));
      for (std::size_t i = 0; i < exact.size(); ++i) {
        CAPTURE(i);
        CHECK(balls.output.data()[i].contains(exact.data()[i]));
      }
    }
  }
}

TEST_CASE("attention: a shift common to a row changes nothing without a sink") {
  for (const std::uint64_t seed : test::seeds(60)) {
    test::Random random(seed);
    oracle::ExactProblem problem = random_exact_problem(random);
    problem.sink.clear();
    problem.shift.clear();
    const auto plain = attention(to_problem<GmpNumbers>(problem));
    problem.shift = test::random_array<oracle::Logarithm>(
        1, problem.rules.batch, problem.rules.q_heads, problem.rules.queries,
        [&] { return test::random_logarithm(random); })[0];
    CAPTURE(seed);
    CHECK(attention(to_problem<GmpNumbers>(problem)).output == plain.output);
  }
}

TEST_CASE("attention: grouped equals multi-head over the histories that the map expands") {
  for (const std::uint64_t seed : test::seeds(60)) {
    test::Random random(seed);
    const auto grouped = to_problem<GmpNumbers>(random_exact_problem(random));
    Problem<GmpNumbers> expanded = grouped;
    expanded.key = expand_heads(grouped.key, grouped.contract.head_map.list);
    expanded.value = expand_heads(grouped.value, grouped.contract.head_map.list);
    expanded.contract.head_map = {};
    CAPTURE(seed);
    CHECK(attention(expanded).output == attention(grouped).output);
  }
}

TEST_CASE("attention: NaN and infinity in invisible slots have no effect, bit for bit") {
  const double bad[] = {std::numeric_limits<double>::quiet_NaN(),
                        std::numeric_limits<double>::infinity(),
                        -std::numeric_limits<double>::infinity()};
  for (const std::uint64_t seed : test::seeds(100)) {
    test::Random random(seed);
    oracle::ExactProblem source = random_exact_problem(random);
    source.strengths.clear();
    source.rules.mask.clear();
    source.rules.lengths.assign(static_cast<std::size_t>(source.rules.batch),
                                source.rules.keys / 2);
    Problem<DoubleNumbers> problem = to_problem<DoubleNumbers>(source);
    const auto clean = attention(problem);
    // Keys at and after the length are never visible.
    for (std::int64_t b = 0; b < source.rules.batch; ++b) {
      for (std::int64_t g = 0; g < source.rules.kv_heads; ++g) {
        for (auto j = static_cast<std::size_t>(source.rules.keys / 2);
             j < static_cast<std::size_t>(source.rules.keys); ++j) {
          const double poison = bad[random.integer(0, 2)];
          for (double& x : problem.key.matrix(b, g).row(j)) x = poison;
          for (double& x : problem.value.matrix(b, g).row(j)) x = poison;
        }
      }
    }
    const auto poisoned = attention(problem);
    CAPTURE(seed);
    CHECK(poisoned.output == clean.output);
    CHECK(poisoned.weights == clean.weights);
  }
}

TEST_CASE("attention: NaN in a visible slot reaches the output") {
  Problem<DoubleNumbers> problem;
  problem.query = Tensor<double>({1, 1, 1, 1}, 1);
  problem.key = Tensor<double>({1, 1, 2, 1}, 1);
  problem.value = Tensor<double>({1, 1, 2, 1}, {1, std::numeric_limits<double>::quiet_NaN()});
  CHECK(std::isnan(attention(problem).output.data()[0]));
}

TEST_CASE("attention: the scale multiplies, the softcap bends before the bias is added") {
  Problem<DoubleNumbers> problem;
  problem.query = Tensor<double>({1, 1, 1, 2}, {3, -1});
  problem.key = Tensor<double>({1, 1, 2, 2}, {1, 0.5, -2, 4});
  problem.value = Tensor<double>({1, 1, 2, 1}, {1, 0});
  problem.scale = 0.5;
  problem.softcap = 2.0;
  problem.bias = Tensor<double>({1, 1, 1, 2}, {0.25, -0.75});
  // raw scores 2.5 and -10
  const double first = 2 * std::tanh(1.25 / 2) + 0.25;
  const double second = 2 * std::tanh(-5.0 / 2) - 0.75;
  const double expected = 1 / (1 + std::exp(second - first));
  CHECK(attention(problem).output.data()[0] == doctest::Approx(expected).epsilon(1e-14));
  problem.softcap = 0.0;  // off
  const double uncapped = 1 / (1 + std::exp((-5 - 0.75) - (1.25 + 0.25)));
  CHECK(attention(problem).output.data()[0] == doctest::Approx(uncapped).epsilon(1e-14));
}

TEST_CASE("attention: huge scores do not overflow, in floats or balls") {
  Problem<DoubleNumbers> problem;
  problem.query = Tensor<double>({1, 1, 1, 1}, 1);
  problem.key = Tensor<double>({1, 1, 3, 1}, {-1000, 1000, 1000});
  problem.value = Tensor<double>({1, 1, 3, 1}, {7, 1, 3});
  CHECK(attention(problem).output.data()[0] == 2);
  problem.sink = {1000};
  CHECK(attention(problem).output.data()[0] == doctest::Approx(4.0 / 3).epsilon(1e-15));
  problem.sink = {2000};
  CHECK(attention(problem).output.data()[0] == 0);
  Problem<BallNumbers> balls;
  balls.query = Tensor<Ball>({1, 1, 1, 1}, Ball(1e200));
  balls.key = Tensor<Ball>({1, 1, 2, 1}, {Ball(1e200), Ball(1e200)});
  balls.value = Tensor<Ball>({1, 1, 2, 1}, {Ball(1), Ball(3)});
  CHECK(attention(balls).output.data()[0].contains(2));
  CHECK(attention(balls).output.data()[0].is_finite());
}

TEST_CASE("attention: what exact numbers cannot hold is refused with its code") {
  using test::refusal_of;
  Problem<GmpNumbers> half = two_queries_one_history();
  half.key.data()[0] = make_rational(1, 2);
  CHECK(refusal_of([&] { attention(half); }) == "log_rational.exp_not_rational at score");
  Problem<GmpNumbers> capped = two_queries_one_history();
  capped.softcap = 1;
  CHECK(refusal_of([&] { attention(capped); }) == "exact.softcap at softcap");
  capped.softcap = 0;
  CHECK(attention(capped).output == attention(two_queries_one_history()).output);
}

TEST_CASE("attention: the contract and the shapes are checked first") {
  using test::refusal_of;
  Problem<GmpNumbers> problem = two_queries_one_history();
  problem.contract.window.left = -2;
  CHECK(refusal_of([&] { attention(problem); }) == "contract.window at window");
  problem = two_queries_one_history();
  problem.value = Tensor<Rational>({1, 1, 3, 2});
  CHECK(refusal_of([&] { attention(problem); }) == "contract.shape_mismatch at value");
  problem = two_queries_one_history();
  problem.sink.emplace(3);
  CHECK(refusal_of([&] { attention(problem); }) == "contract.shape_mismatch at sink");
  problem = two_queries_one_history();
  problem.lengths = {3};
  CHECK(refusal_of([&] { attention(problem); }) == "contract.lengths at nonpad_kv_seqlen");
}
