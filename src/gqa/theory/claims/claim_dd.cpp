#include "gqa/attention/gradient.hpp"
#include "gqa/theory/claims/certificates.hpp"
#include "gqa/theory/claims/claims.hpp"
#include "gqa/theory/claims/instances.hpp"

namespace gqa {
namespace {

using namespace claim_instances;

std::vector<Matrix> random_heads(std::mt19937_64& engine, std::int64_t heads, std::size_t rows) {
  std::vector<Matrix> result;
  for (std::int64_t h = 0; h < heads; ++h) result.push_back(random_integers(engine, rows, 2));
  return result;
}

Problem<GmpNumbers> random_problem(std::mt19937_64& engine, std::int64_t heads, std::int64_t kv) {
  const std::vector<Matrix> queries = random_heads(engine, heads, 3);
  const std::vector<Matrix> keys = random_heads(engine, kv, 3);
  return with_queries(3, queries, keys, random_heads(engine, kv, 3));
}

ClaimVerdict argue_dd(Argument& argument, const TrainedModel* /*model*/) {
  std::mt19937_64 engine(1);
  int equal = 0, all = 0;
  for (std::int64_t heads = 1; heads <= 6; ++heads) {
    for (std::int64_t kv = 1; kv <= heads; ++kv) {
      if (heads % kv != 0) continue;
      for (const bool causal : {false, true}) {
        Problem<GmpNumbers> problem = random_problem(engine, heads, kv);
        problem.contract.causal = causal;
        const auto map = resolve_head_map({}, heads, kv);
        Problem<GmpNumbers> wide = problem;
        wide.key = expand_heads(problem.key, map);
        wide.value = expand_heads(problem.value, map);
        const Tensor<Rational> grad_output = to_tensor(random_heads(engine, heads, 3));
        const auto grouped = attention_gradients(problem, grad_output);
        const auto expanded = attention_gradients(wide, grad_output);
        const bool same = grouped.query == expanded.query &&
                          grouped.key == sum_over_groups(expanded.key, map, kv) &&
                          grouped.value == sum_over_groups(expanded.value, map, kv);
        equal += same ? 1 : 0;
        if (++all == 7) {
          argument.say("for instance dK of the first key: {}", gqa::to_text(grouped.key.data()[0]));
        }
      }
    }
  }
  argument.require(all == 28 && equal == all,
                   "{} of {} exact problems: dQ equal, dK and dV the sums", equal, all);
  argument.say(
      "the loss is a sum over query heads, and a shared key or value is one variable of all of its "
      "terms: the derivative of the sum is the sum of derivatives, each that of one head alone");
  // Values enter linearly: v moved by e under two heads, with weights w, x and output gradients g,
  // h.
  argument.attach(claim_certificates::polynomial_identity(
      "g*(w*(v + e) + r) + h*(x*(v + e) + s) - (g*(w*v + r) + h*(x*v + s))", "(g*w + h*x)*e"));
  // One head's o = (a v + N) / (a + A) with a = exp(q k): the numerator of do/dk by the quotient
  // rule, da = q a, which is the one that the gradients above sum.
  argument.attach(
      claim_certificates::polynomial_identity("q*a*v*(a + A) - (a*v + N)*q*a", "q*a*(v*A - N)"));
  return ClaimVerdict::proved;
}

}  // namespace

const Claim claim_dd{
    .id = "dd",
    .title = "shared-gradients",
    .statement = "dK and dV of a shared head are the sums of its query heads' gradients",
    .scope =
        "every problem; instances Hq = 1..6, every divisor Hkv, three queries, causal and not: 28 "
        "exact problems",
    .certificate =
        "the chain rule; exact gradients (dK in logarithms) of the grouped layer and of the "
        "expanded one, summed",
    .argue = argue_dd};

}  // namespace gqa
