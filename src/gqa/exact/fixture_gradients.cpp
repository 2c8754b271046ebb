// Exact gradients: stated, of the expanded reference, and in the second engine.
#include "gqa/attention/gradient.hpp"
#include "gqa/exact/fixture_checker.hpp"

namespace gqa {
namespace {

using Gradients = AttentionGradients<GmpNumbers>;

// MHA on a copy of the history for every query head, its gradients summed over the groups.
Gradients summed_expansion(const Problem<GmpNumbers>& problem, const Tensor<Rational>& grad_output,
                           const std::vector<std::int64_t>& head_map) {
  const std::int64_t kv_heads = problem.value.extent(1);
  Problem<GmpNumbers> expanded = problem;
  expanded.value = expand_heads(problem.value, head_map);
  if (!problem.strengths) expanded.key = expand_heads(problem.key, head_map);
  expanded.contract.head_map = {};
  Gradients gradients = attention_gradients(expanded, grad_output);
  gradients.value = sum_over_groups(gradients.value, head_map, kv_heads);
  if (!problem.strengths) gradients.key = sum_over_groups(gradients.key, head_map, kv_heads);
  return gradients;
}

Gradients second_engine(const Problem<GmpNumbers>& problem, const Tensor<Rational>& grad_output) {
  const auto there = [](const Rational& x) { return to_boost(x); };
  const auto back = [](const BoostRational& x) { return from_boost(x); };
  const auto log_back = [](const BoostLogRational& x) { return log_rational_cast<Rational>(x); };
  const auto result = attention_gradients(to_second_engine(problem),
                                          cast_tensor<BoostRational>(grad_output, there));
  Gradients gradients;
  gradients.value = cast_tensor<Rational>(result.value, back);
  if (problem.strengths) return gradients;
  gradients.query = cast_tensor<Rational>(result.query, back);
  gradients.key = cast_tensor<LogRational>(result.key, log_back);
  return gradients;
}

}  // namespace

void FixtureChecker::check_gradients() {
  if (!fixture_.gradients) return;
  const GradientExpectation& expected = *fixture_.gradients;
  const Problem<GmpNumbers>& problem = fixture_.problem;
  const auto head_map = resolve_head_map(problem.contract.head_map, result_.output.extent(1),
                                         problem.value.extent(1));
  const Gradients found = attention_gradients(problem, expected.grad_output);
  expect_elements(found.value, expected.grad_value, "grad_value");
  if (expected.grad_scaled_query) {
    expect_elements(found.query, *expected.grad_scaled_query, "grad_scaled_query");
  }
  if (expected.grad_key) expect_elements(found.key, *expected.grad_key, "grad_key");
  const auto agree = [&](const Gradients& other, const char* what) {
    const std::string text(what);
    expect_elements(other.value, found.value, text + "grad_value");
    if (problem.strengths) return;
    expect_elements(other.query, found.query, text + "grad_scaled_query");
    expect_elements(other.key, found.key, text + "grad_key");
  };
  agree(summed_expansion(problem, expected.grad_output, head_map),
        "summed over the groups of the expanded reference: ");
  note("gradients of {}, also as sums of the expanded reference",
       expected.grad_key ? "scaled query, key and value" : "value");
  agree(second_engine(problem, expected.grad_output), "second engine: ");
}

}  // namespace gqa
