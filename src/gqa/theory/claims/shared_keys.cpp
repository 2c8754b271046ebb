// What shared keys do to scores and errors.
#include "gqa/theory/claims/certificates.hpp"
#include "gqa/theory/claims/claims.hpp"
#include "gqa/theory/claims/instances.hpp"
#include "gqa/theory/claims/rank_steps.hpp"
#include "gqa/theory/rank_certificates.hpp"

namespace gqa {
namespace {

using namespace claim_instances;

ClaimVerdict argue_w(Argument& argument, const TrainedModel* /*model*/) {
  // Each head asks with one unit vector in one of two rows; three keys of two coordinates.
  const Matrix keys{{1, 0}, {0, 1}, {1, 1}};
  Matrix along_heads;
  std::vector<Matrix> all_queries;
  for (std::size_t h = 0; h < 4; ++h) {
    Matrix queries(3, Row(2));
    queries[h / 2][h % 2] = 1;
    all_queries.push_back(queries);
    Row scores;
    for (const Row& query : queries) {
      for (const Row& key : keys) scores.push_back(dot(query, key));
    }
    along_heads.push_back(scores);
  }
  for (const Row& row : along_heads) argument.say("scores of a head: {}", to_text(row));
  argument.require(rank(along_heads) == 4,
                   "h = 4 heads on g = 1 key matrix: rank {} along the head "
                   "axis, not 1",
                   rank(along_heads));
  argument.attach(rank_certificate(score_operands(all_queries, {keys}, true)));
  argument.attach(rank_certificate(score_operands(all_queries, {keys}, false)));
  require_rank(argument, rank_group(4, 20, 3), "scores along the heads, shared keys", 4);
  argument.say(
      "what falls is the rank of the scores stacked over heads and queries against the "
      "keys: min(n, g d_k), not min(n, h d_k)");
  require_rank(argument, rank_group(4, 20, 3), "scores along the keys, shared", 3);
  require_rank(argument, rank_group(4, 20, 3), "scores along the keys, one history per head", 12);
  return ClaimVerdict::refuted;
}

}  // namespace

const Claim claim_w{
    .id = "w",
    .title = "head-axis-rank",
    .statement = "Sharing keys lowers the head-axis rank of the score tensor from h to g",
    .scope = "all queries and keys",
    .certificate =
        "four heads on one key matrix, whose scores have rank 4 along the head axis: a minor",
    .argue = argue_w};

namespace {

using namespace claim_instances;

ClaimVerdict argue_x(Argument& argument, const TrainedModel* /*model*/) {
  const std::vector<Matrix> keys{{{1, -2}, {3, 0}, {1, -2}}};
  Row difference;
  for (std::size_t c = 0; c < 2; ++c) difference.push_back(keys[0][0][c] - keys[0][2][c]);
  argument.require(difference == Row{0, 0},
                   "k_1 - k_2 = {}: the coefficients of q in the difference "
                   "of the scores",
                   to_text(difference));
  std::mt19937_64 engine(1);
  int equal = 0;
  const int all = 50;
  for (int k = 0; k < all; ++k) {
    const std::vector<Matrix> queries{random_integers(engine, 1, 2), random_integers(engine, 1, 2)};
    const auto weights = attention(with_queries(3, queries, keys, {{{1}, {2}, {3}}})).weights;
    bool same = true;
    for (std::int64_t h = 0; h < 2; ++h) {
      const Row row = row_of(weights, h);
      same = same && row[0] == row[2];
    }
    equal += same ? 1 : 0;
  }
  argument.require(equal == all, "{} of {} pairs of queries weigh both positions alike", equal,
                   all);
  // In each coordinate, with k_1 = k_2 = k.
  argument.attach(claim_certificates::polynomial_identity("q*(k - k)", "0"));
  return ClaimVerdict::proved;
}

}  // namespace

const Claim claim_x{
    .id = "x",
    .title = "equal-keys",
    .statement =
        "Two positions with equal shared keys are indistinguishable to every query of the group",
    .scope = "every query; nothing that names the position (mask, bias, rotary) between them",
    .certificate = "q.k_1 - q.k_2 = q.(k_1 - k_2) = q.0 = 0 for every q",
    .argue = argue_x};

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
