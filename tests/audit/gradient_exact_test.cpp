// Gradients against the formula in exact rationals, and with no tolerance at all.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "audit/gradient_support.hpp"
#include "gqa/audit/gradients/gradient_enclosure.hpp"
#include "gqa/audit/gradients/gradient_filter.hpp"
#include "support/random.hpp"
#include "support/random_problem.hpp"
#include "support/typed.hpp"

using namespace gqa;

namespace {

std::vector<double> small_integers(test::Random& random, std::int64_t count) {
  std::vector<double> values(static_cast<std::size_t>(count));
  for (double& x : values) x = static_cast<double>(random.integer(-4, 4));
  return values;
}

// Zero queries: every score is equal, every weight one over the number of visible keys.
struct RandomEqualScores {
  ProblemTensors tensors;
  Contract contract;

  explicit RandomEqualScores(test::Random& random) {
    const oracle::Rules r = test::random_rules(random);
    contract = test::to_contract(r);
    if (random.one_in(2)) contract.scale = make_rational(3, 8);
    constexpr ElementType type = ElementType::binary32;
    constexpr std::int64_t width = 4;  // 1 / sqrt(4) is rational
    const Shape query{r.batch, r.q_heads, r.queries, width};
    const Shape key{r.batch, r.kv_heads, r.keys, width};
    tensors.query = test::tensor_of(
        type, query, std::vector<double>(static_cast<std::size_t>(element_count(query)), 0.0));
    tensors.key = test::tensor_of(type, key, small_integers(random, element_count(key)));
    std::vector<double> values = small_integers(random, element_count(key));
    // All g.v_j of a row are equal: what is left of its derivatives is grad_lse.
    if (random.one_in(4)) values.assign(values.size(), 3);
    tensors.value = test::tensor_of(type, key, values);
    tensors.grad_output =
        test::tensor_of(type, query, small_integers(random, element_count(query)));
    // Also of rows whose weights are all there is: grad_output and its delta are zero.
    if (random.one_in(2)) {
      tensors.grad_lse = test::tensor_of(type, {r.batch, r.q_heads, r.queries},
                                         small_integers(random, r.batch * r.q_heads * r.queries));
    }
    if (!r.lengths.empty()) {
      tensors.nonpad_kv_seqlen =
          test::tensor_of_bits(ElementType::int64, {r.batch}, {r.lengths.begin(), r.lengths.end()});
    }
  }
};

Tensor<Rational> exact_tensor(const StridedTensor& tensor) {
  std::vector<Rational> data;
  const Tensor<Ball> balls = test::ball_tensor(tensor);
  for (const Ball& x : balls.data()) data.push_back(x.lower());
  return {tensor.shape(), std::move(data)};
}

// In exact numbers, with the log-rational query 0.
AttentionGradients<GmpNumbers> exact_gradients(const AttentionProblem& p,
                                               const GradientProblem& gradient) {
  Problem<GmpNumbers> problem;
  problem.contract = p.contract;
  problem.contract.causal = false;
  problem.contract.window = {};
  problem.query = Tensor<LogRational>(p.query.shape());
  problem.key = exact_tensor(p.key.current());
  problem.value = exact_tensor(p.value.current());
  problem.scale = p.contract.scale.value_or(make_rational(1, 2));
  problem.mask = test::ball_problem(p).mask;
  std::optional<Tensor<Rational>> grad_lse;
  if (gradient.grad_lse) grad_lse = exact_tensor(*gradient.grad_lse);
  return attention_gradients(problem, exact_tensor(gradient.grad_output),
                             grad_lse ? &*grad_lse : nullptr);
}

}  // namespace

TEST_CASE("gradients, exactly: both rungs and the rational one agree with exact arithmetic") {
  std::int64_t elements = 0;
  for (const std::uint64_t seed : test::seeds(40)) {
    CAPTURE(seed);
    test::Random random(seed);
    const RandomEqualScores drawn(random);
    const AttentionProblem problem = make_problem(drawn.tensors, drawn.contract);
    const Dimensions& d = problem.dimensions;
    const GradientProblem gradient{
        problem, StridedTensor(drawn.tensors.grad_output, Layout::bhsd, 0, "grad_output"),
        test::column_of(drawn.tensors.grad_lse)};
    const auto exact = exact_gradients(problem, gradient);
    for (std::int64_t b = 0; b < d.batch; ++b) {
      for (std::int64_t g = 0; g < d.kv_heads; ++g) {
        const HistoryGradients found = gradient_reference(gradient, b, g, {});
        const GradientEnclosure reader(gradient, found.facts, nullptr, {});
        const auto check = [&](GradientKind kind, const GradientPart& part, std::size_t r,
                               std::size_t c, const Rational& expected, const Ball& enclosed) {
          CAPTURE(name(kind));
          CAPTURE(r);
          CAPTURE(c);
          CAPTURE(to_text(expected));
          const auto rational = reader.exact(kind, r, c);
          REQUIRE(rational.has_value());
          CHECK(*rational == expected);
          CHECK(enclosed.contains(expected));
          REQUIRE(part.open[r] == 0);
          CHECK(abs(Rational(Rational(part.value(r, c)) - expected)) <=
                Rational(part.radius(r, c)));
          ++elements;
        };
        for (std::size_t r = 0; r < static_cast<std::size_t>(found.facts.rows()); ++r) {
          const std::int64_t head = found.facts.heads[r / static_cast<std::size_t>(d.queries)];
          const auto row = reader.query_row(r);
          for (std::size_t c = 0; c < 4; ++c) {
            check(GradientKind::query, found.query, r, c,
                  exact.query.matrix(b, head)(r % static_cast<std::size_t>(d.queries), c),
                  (*row)[c].reference);
          }
        }
        for (std::size_t j = 0; j < static_cast<std::size_t>(d.keys); ++j) {
          const auto row = reader.key_row(j);
          for (std::size_t c = 0; c < 4; ++c) {
            check(GradientKind::key, found.key, j, c, 0, row->key[c].reference);
            check(GradientKind::value, found.value, j, c, exact.value.matrix(b, g)(j, c),
                  row->value[c].reference);
          }
        }
      }
    }
  }
  fmt::print("gradients against exact rationals: {} elements\n", elements);
  CHECK(elements > 1000);
}
