#include "gqa/attention/gradient.hpp"

#include <doctest/doctest.h>

#include "support/errors.hpp"
#include "support/random_problem.hpp"

using namespace gqa;
using gqa::test::random_exact_problem;
using gqa::test::to_problem;

namespace {

std::vector<Rational> random_gradient(test::Random& random, std::size_t size) {
  std::vector<Rational> values;
  for (std::size_t i = 0; i < size; ++i) values.push_back(random.small_rational());
  return values;
}

template <class N>
Tensor<typename N::Value> grad_output_of(const Problem<N>& problem,
                                         const std::vector<Rational>& values) {
  std::vector<typename N::Value> data;
  for (std::size_t i = 0; i < values.size(); ++i) {
    data.push_back(test::convert<typename N::Value>(to_boost(values[i])));
  }
  const Dimensions d = dimensions_of(problem);
  return {{d.batch, d.q_heads, d.queries, d.value_size}, std::move(data)};
}

std::size_t output_size(const Problem<GmpNumbers>& problem) {
  const Dimensions d = dimensions_of(problem);
  return static_cast<std::size_t>(d.batch * d.q_heads * d.queries * d.value_size);
}

// The loss whose gradients are asked for.
Float50 loss(const Problem<Float50Numbers>& problem, const Tensor<Float50>& grad_output) {
  const auto result = attention(problem, Wanted::output);
  Float50 sum = 0;
  for (std::size_t i = 0; i < grad_output.size(); ++i) {
    sum += grad_output.data()[i] * result.output.data()[i];
  }
  return sum;
}

// The oracle: a symmetric difference quotient with 50 digits, error about 1e-24.
void check_by_differences(Problem<Float50Numbers>& problem, const Tensor<Float50>& grad_output,
                          Tensor<Float50>& operand, const Tensor<Float50>& gradient) {
  const Float50 step("1e-12");
  REQUIRE(gradient.shape() == operand.shape());
  for (std::size_t i = 0; i < operand.size(); ++i) {
    const Float50 at = operand.data()[i];
    operand.data()[i] = at + step;
    const Float50 above = loss(problem, grad_output);
    operand.data()[i] = at - step;
    const Float50 below = loss(problem, grad_output);
    operand.data()[i] = at;
    const Float50 difference = abs(Float50((above - below) / (2 * step) - gradient.data()[i]));
    CAPTURE(i);
    CAPTURE(static_cast<double>(gradient.data()[i]));
    CHECK(difference < Float50("1e-15"));
  }
}

Problem<GmpNumbers> expanded(const Problem<GmpNumbers>& problem) {
  const Dimensions d = dimensions_of(problem);
  const auto map = resolve_head_map(problem.contract.head_map, d.q_heads, d.kv_heads);
  Problem<GmpNumbers> other = problem;
  other.contract.head_map = {};
  other.key = expand_heads(problem.key, map);
  other.value = expand_heads(problem.value, map);
  return other;
}

}  // namespace

TEST_CASE("gradients: difference quotients agree, with softcap, scale, bias and sink") {
  for (const std::uint64_t seed : test::seeds(25)) {
    CAPTURE(seed);
    test::Random random(seed);
    oracle::ExactProblem exact = random_exact_problem(random);
    exact.strengths.clear();
    auto problem = to_problem<Float50Numbers>(exact);
    if (random.one_in(2)) problem.scale = Float50("0.375");
    if (random.one_in(2)) problem.softcap = Float50(3);
    const auto values = random_gradient(random, output_size(to_problem<GmpNumbers>(exact)));
    const Tensor<Float50> grad_output = grad_output_of(problem, values);
    const auto gradients = attention_gradients(problem, grad_output);
    check_by_differences(problem, grad_output, problem.query, gradients.query);
    check_by_differences(problem, grad_output, problem.key, gradients.key);
    check_by_differences(problem, grad_output, problem.value, gradients.value);
  }
}

TEST_CASE("gradients: those of a shared head are the sums over its query heads, exactly") {
  for (const std::uint64_t seed : test::seeds(60)) {
    CAPTURE(seed);
    test::Random random(seed);
    const auto problem = to_problem<GmpNumbers>(random_exact_problem(random));
    const auto grad_output = grad_output_of(problem, random_gradient(random, output_size(problem)));
    const auto grouped = attention_gradients(problem, grad_output);
    const auto wide = attention_gradients(expanded(problem), grad_output);
    const Dimensions d = dimensions_of(problem);
    const auto map = resolve_head_map(problem.contract.head_map, d.q_heads, d.kv_heads);
    CHECK(grouped.query == wide.query);
    CHECK(grouped.value == sum_over_groups(wide.value, map, d.kv_heads));
    if (!problem.strengths) CHECK(grouped.key == sum_over_groups(wide.key, map, d.kv_heads));
  }
}

TEST_CASE("gradients: exact ones agree with 50 digits") {
  for (const std::uint64_t seed : test::seeds(25)) {
    CAPTURE(seed);
    test::Random random(seed);
    oracle::ExactProblem source = random_exact_problem(random);
    source.strengths.clear();
    const auto problem = to_problem<GmpNumbers>(source);
    const auto real = to_problem<Float50Numbers>(source);
    const auto values = random_gradient(random, output_size(problem));
    const auto exact = attention_gradients(problem, grad_output_of(problem, values));
    const auto rounded = attention_gradients(real, grad_output_of(real, values));
    for (std::size_t i = 0; i < exact.query.size(); ++i) {
      const auto expected = test::convert<Float50>(to_boost(exact.query.data()[i]));
      CHECK(abs(Float50(expected - rounded.query.data()[i])) < Float50("1e-40"));
    }
    for (std::size_t i = 0; i < exact.key.size(); ++i) {
      Float50 expected = 0;
      for (const auto& [prime, coefficient] : exact.key.data()[i].coefficients()) {
        expected += test::convert<Float50>(to_boost(coefficient)) * log(Float50(prime));
      }
      CHECK(abs(Float50(expected - rounded.key.data()[i])) < Float50("1e-40"));
    }
  }
}

TEST_CASE("gradients: two queries on one history, by hand") {
  // Weights (3/4, 1/4) and (1/4, 3/4); d output_0 of head 0 and head 1.
  Problem<GmpNumbers> problem;
  const LogRational ln3 = LogRational::log_of(3);
  problem.query = Tensor<LogRational>({1, 2, 1, 2}, {ln3, {}, {}, ln3});
  problem.key = Tensor<Rational>({1, 1, 2, 2}, {1, 0, 0, 1});
  problem.value = Tensor<Rational>({1, 1, 2, 1}, std::vector<Rational>{4, 0});
  const Tensor<Rational> grad_output({1, 2, 1, 1}, Rational(1));
  const auto gradients = attention_gradients(problem, grad_output);
  CHECK(gradients.value.data() == std::vector<Rational>{1, 1});
  // w (1 - w) (4 - 0) = 3/4 for the first key, minus that for the second, of both heads.
  const Rational s = make_rational(3, 4);
  CHECK(gradients.query.data() == std::vector<Rational>{s, -s, s, -s});
  CHECK(gradients.key.data() ==
        std::vector<LogRational>{ln3 * s, ln3 * s, ln3 * Rational(-s), ln3 * Rational(-s)});
}

TEST_CASE("gradients: balls enclose the exact ones") {
  test::Random random(3);
  oracle::ExactProblem source = random_exact_problem(random);
  source.strengths.clear();
  const auto problem = to_problem<GmpNumbers>(source);
  auto balls = to_problem<BallNumbers>(source);
  for (std::size_t i = 0; i < balls.query.size(); ++i) {
    balls.query.data()[i] = enclose(problem.query.data()[i]);
  }
  const auto enclose_all = [](auto& to, const auto& from) {
    if (!to) return;
    for (std::size_t i = 0; i < to->size(); ++i) to->data()[i] = enclose(from->data()[i]);
  };
  enclose_all(balls.bias, problem.bias);
  enclose_all(balls.score_shift, problem.score_shift);
  if (balls.sink) {
    for (std::size_t h = 0; h < balls.sink->size(); ++h)
      (*balls.sink)[h] = enclose((*problem.sink)[h]);
  }
  const auto values = random_gradient(random, output_size(problem));
  const auto exact = attention_gradients(problem, grad_output_of(problem, values));
  const auto enclosed = attention_gradients(balls, grad_output_of(balls, values));
  for (std::size_t i = 0; i < exact.query.size(); ++i) {
    CHECK(enclosed.query.data()[i].contains(exact.query.data()[i]));
  }
  for (std::size_t i = 0; i < exact.key.size(); ++i) {
    CHECK((enclosed.key.data()[i] - enclose(exact.key.data()[i])).contains_zero());
  }
}

TEST_CASE("gradients: a gradient of another shape is refused") {
  Problem<GmpNumbers> problem;
  problem.strengths = Tensor<Rational>({1, 2, 1, 2}, Rational(1));
  problem.value = Tensor<Rational>({1, 1, 2, 1}, std::vector<Rational>{4, 0});
  CHECK(test::refusal_of([&] {
          attention_gradients(problem, Tensor<Rational>({1, 1, 1, 1}));
        }) == "contract.shape_mismatch at grad_output");
  // Stipulated strengths have no query and no key to derive by.
  const auto gradients = attention_gradients(problem, Tensor<Rational>({1, 2, 1, 1}, Rational(1)));
  CHECK(gradients.query.empty());
  CHECK(gradients.key.empty());
  CHECK(gradients.value.data() == std::vector<Rational>{1, 1});
}

TEST_CASE("gradients: of a loss that reads the log-sum-exp, by hand") {
  // The derivative of lse by a score is its weight: (3/4, 1/4) and (1/4, 3/4), times 2 and -4.
  Problem<GmpNumbers> problem;
  const LogRational ln3 = LogRational::log_of(3);
  problem.query = Tensor<LogRational>({1, 2, 1, 2}, {ln3, {}, {}, ln3});
  problem.key = Tensor<Rational>({1, 1, 2, 2}, {1, 0, 0, 1});
  problem.value = Tensor<Rational>({1, 1, 2, 1}, std::vector<Rational>{4, 0});
  const Tensor<Rational> nothing({1, 2, 1, 1}, Rational(0));
  const Tensor<Rational> grad_lse({1, 2, 1, 1}, std::vector<Rational>{2, -4});
  const auto gradients = attention_gradients(problem, nothing, &grad_lse);
  CHECK(gradients.value.data() == std::vector<Rational>{0, 0});
  CHECK(gradients.query.data() ==
        std::vector<Rational>{make_rational(3, 2), make_rational(1, 2), -1, -3});
  // Key 0: 3/2 of query 0 and -1 of query 1; key 1: 1/2 and -3.
  CHECK(gradients.key.data() ==
        std::vector<LogRational>{ln3 * make_rational(3, 2), ln3 * Rational(-1),
                                 ln3 * make_rational(1, 2), ln3 * Rational(-3)});
  const Tensor<Rational> short_one({1, 2, 2, 1}, Rational(1));
  test::check_error([&] { attention_gradients(problem, nothing, &short_one); },
                    "contract.shape_mismatch", "grad_lse");
}

TEST_CASE("gradients: with the log-sum-exp in the loss, difference quotients agree") {
  for (const std::uint64_t seed : test::seeds(10)) {
    CAPTURE(seed);
    test::Random random(seed);
    constexpr std::size_t heads = 2, rows = 2, keys = 3, width = 2;
    const auto drawn = [&](std::size_t size) {
      std::vector<Float50> values;
      for (std::size_t i = 0; i < size; ++i) values.emplace_back(random.normal());
      return values;
    };
    Problem<Float50Numbers> problem;
    problem.query = Tensor<Float50>({1, heads, rows, width}, drawn(heads * rows * width));
    problem.key = Tensor<Float50>({1, 1, keys, width}, drawn(keys * width));
    problem.value = Tensor<Float50>({1, 1, keys, width}, drawn(keys * width));
    problem.scale = Float50("0.625");
    const Tensor<Float50> grad_output({1, heads, rows, width}, drawn(heads * rows * width));
    const Tensor<Float50> grad_lse({1, heads, rows, 1}, drawn(heads * rows));
    // Loops of its own, without the engine.
    const auto loss_of = [&] {
      Float50 sum = 0;
      for (std::size_t r = 0; r < heads * rows; ++r) {
        Float50 total = 0;
        std::vector<Float50> output(width, Float50(0));
        for (std::size_t j = 0; j < keys; ++j) {
          Float50 score = 0;
          for (std::size_t c = 0; c < width; ++c) {
            score += problem.query.data()[r * width + c] * problem.key.data()[j * width + c];
          }
          const Float50 numerator = exp(Float50(*problem.scale * score));
          total += numerator;
          for (std::size_t c = 0; c < width; ++c) {
            output[c] += numerator * problem.value.data()[j * width + c];
          }
        }
        for (std::size_t c = 0; c < width; ++c) {
          sum += grad_output.data()[r * width + c] * output[c] / total;
        }
        sum += grad_lse.data()[r] * log(total);
      }
      return sum;
    };
    const auto gradients = attention_gradients(problem, grad_output, &grad_lse);
    const auto check = [&](Tensor<Float50>& operand, const Tensor<Float50>& gradient) {
      const Float50 step("1e-12");
      for (std::size_t i = 0; i < operand.size(); ++i) {
        const Float50 at = operand.data()[i];
        operand.data()[i] = at + step;
        const Float50 above = loss_of();
        operand.data()[i] = at - step;
        const Float50 below = loss_of();
        operand.data()[i] = at;
        CAPTURE(i);
        CHECK(abs(Float50((above - below) / (2 * step) - gradient.data()[i])) < Float50("1e-15"));
      }
    };
    check(problem.query, gradients.query);
    check(problem.key, gradients.key);
    check(problem.value, gradients.value);
  }
}
