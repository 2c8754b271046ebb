#include "gqa/theory/claims/certificates.hpp"
#include "gqa/theory/claims/claims.hpp"
#include "gqa/theory/claims/instances.hpp"

namespace gqa {
namespace {

using namespace claim_instances;

ClaimVerdict argue_aa(Argument& argument, const TrainedModel* /*model*/) {
  argument.say(
      "values enter linearly: the output moves by sum w_j delta_j, a mean of the errors, so "
      "by at most the largest; equal errors attain it");
  std::mt19937_64 engine(1);
  bool bounded = true;
  for (int k = 0; k < 50; ++k) {
    const Matrix value = random_integers(engine, 4, 1), error = random_integers(engine, 4, 1);
    const Matrix strengths{{1, 2, 5, 3}};
    const Rational before = row_of(attention(with_strengths({strengths}, {value})).output, 0)[0];
    const Rational after =
        row_of(attention(with_strengths({strengths}, {sum(value, error)})).output, 0)[0];
    bounded = bounded && abs(Rational(after - before)) <= 4;
  }
  argument.require(bounded, "50 random errors of at most 4 move no output by more than 4");
  // Query ln 3, key error 1 at the first key: t = 3.
  const Matrix value{{1000}, {0}};
  const auto output_with = [&](long query, long key) {
    return row_of(attention(with_queries(3, {{{query}}}, {{{key}, {0}}}, {value})).output, 0)[0];
  };
  for (const long query : {1, 2, 5}) {
    const Rational before = output_with(query, 0), after = output_with(query, 1);
    const Rational w = fraction(1, 2), t = LogRational::log_of(3).exp().value_or(0);
    Rational factor = 1;
    for (long k = 0; k < query; ++k) factor *= t;
    const Rational gain = w * (factor - 1);
    argument.require(
        after - before == gain * (value[0][0] - before) / (1 + gain),
        "query {} ln 3, a key off by 1: the output moves from {} to {}, as the formula "
        "says",
        query, gqa::to_text(before), gqa::to_text(after));
  }
  argument.say(
      "to first order the factor is w_j (v_j - o) q: it grows with the query and with the "
      "spread of the values, which the error in the key does not bound");
  // One more key with weight a and error at most D, after keys of weight A whose errors sum to E:
  // what is left of the bound stays a sum of what is not negative.
  argument.attach(
      claim_certificates::polynomial_identity("(A + a)*D - (E + a*e)", "(A*D - E) + a*(D - e)"));
  // o = (a v + N) / (a + A), o' = (t a v + N) / (t a + A), both denominators multiplied out.
  argument.attach(claim_certificates::polynomial_identity(
      "(t*a*v + N)*(a + A) - (a*v + N)*(t*a + A)", "a*(t - 1)*(v*A - N)"));
  return ClaimVerdict::proved;
}

}  // namespace

const Claim claim_aa{.id = "aa",
                     .title = "perturbations",
                     .statement =
                         "An error of at most delta in V moves no output by more than delta; an "
                         "error e in a key has no such bound",
                     .scope = "every row of weights; the exact effect of one key",
                     .certificate =
                         "sum w_j delta_j is a mean; o' - o = w_j (t - 1) (v_j - o) / (1 + w_j (t "
                         "- 1)), t = exp(q.e)",
                     .argue = argue_aa};

}  // namespace gqa
