// What is said of sharing key and value heads in words: where a query may look, what is lost.
#include "gqa/theory/attainable.hpp"
#include "gqa/theory/claims/certificates.hpp"
#include "gqa/theory/claims/claims.hpp"
#include "gqa/theory/claims/instances.hpp"
#include "gqa/theory/rank_certificates.hpp"

namespace gqa {
namespace {

using namespace claim_instances;
using claim_certificates::polynomial_identity;

// Requires the decision, and attaches its certificate.
void require_reach(Argument& argument, const Matrix& values, const Matrix& keys, const Row& point,
                   Reach expected, const char* what) {
  const KeyReachability found = key_reachability(values, keys, point);
  argument.require(found.reach == expected, "{}: {}", what, found.reason);
  if (!found.certificate.is_null()) argument.attach(found.certificate);
}

ClaimVerdict argue_mass(Argument& argument, const TrainedModel* /*model*/) {
  const Matrix keys{{0}, {1}, {2}}, middle{{0}, {1}, {0}};
  require_reach(argument, middle, keys, {fraction(1, 2)}, Reach::unreachable,
                "keys 0, 1, 2: no query gives the middle position the weight 1/2");
  require_reach(argument, middle, keys, {fraction(1, 3)}, Reach::reachable,
                "some query gives it 1/3");
  argument.say(
      "a key that is a mean of others with weights l_i has the score sum l_i s_i, so w = "
      "product(w_i ^ l_i); over w_i of sum 1 - w that product is at most (1 - w) exp(-H(l)), H the "
      "entropy: w <= 1 / (1 + exp(H)), 1/3 for the middle of two");
  // w = sqrt(a b) and a + b >= 2 sqrt(a b): with a + b + w = 1, w <= 1/3.
  argument.attach(polynomial_identity("(a + b)*(a + b) - 4*a*b", "(a - b)*(a - b)"));
  return ClaimVerdict::refuted;
}

ClaimVerdict argue_compensation(Argument& argument, const TrainedModel* /*model*/) {
  argument.say(
      "with one value v at both positions the output is (w_0 + w_1) v + the others: only "
      "the sum of both weights is in it, whichever of them is the larger");
  argument.attach(polynomial_identity("w*v + x*v + r", "(w + x)*v + r"));
  const Matrix values{{5, 7}, {5, 7}, {1, 0}};
  const Matrix strengths{{3, 1, 4}, {1, 3, 4}};
  for (const Row& row : strengths) {
    const Row output = row_of(attention(with_strengths({{row}}, {values})).output, 0);
    argument.require(output == Row{3, fraction(7, 2)}, "strengths {} give {}", to_text(row),
                     to_text(output));
  }
  argument.attach(claim_certificates::equal_outputs(values, strengths, {3, fraction(7, 2)}));
  return ClaimVerdict::refuted;
}

ClaimVerdict argue_softening(Argument& argument, const TrainedModel* /*model*/) {
  const Row query{fraction(1, 10), 1};
  const Matrix keys{{3, 0}, {0, fraction(29, 10)}};
  const Row pooled{fraction(3, 2), fraction(29, 20)};
  const Rational own = dot(query, keys[0]), mean = dot(query, pooled);
  argument.require(dot(keys[0], keys[0]) == 9 && dot(pooled, pooled) == fraction(1741, 400),
                   "|K_1|^2 = 9, the largest of the group, falls to 1741/400");
  argument.require(own == fraction(3, 10) && mean == fraction(8, 5),
                   "against a key of 0 the score of q = (1/10, 1) rises from {} to {}",
                   gqa::to_text(own), gqa::to_text(mean));
  nlohmann::ordered_json json = claim_certificates::counterexample("mean_key_softens");
  json["query"] = exact_json(query);
  json["keys"] = exact_json(keys);
  json["head"] = 0;
  json["left"] = exact_json(Row{own});
  json["right"] = exact_json(Row{mean});
  argument.attach(json);
  return ClaimVerdict::refuted;
}

ClaimVerdict argue_mean_norm(Argument& argument, const TrainedModel* /*model*/) {
  argument.say(
      "|mean k| <= mean |k| <= max |k| (triangle inequality); for two heads, in each "
      "coordinate, the mean of squares less the square of the mean is a square");
  argument.attach(polynomial_identity("2*(a*a + b*b) - (a + b)*(a + b)", "(a - b)*(a - b)"));
  std::mt19937_64 engine(1);
  int bounded = 0;
  const int all = 100;
  for (int k = 0; k < all; ++k) {
    const Matrix keys = random_integers(engine, 1 + engine() % 5, 3);
    Row mean(3);
    Rational longest = 0;
    for (const Row& key : keys) {
      for (std::size_t c = 0; c < 3; ++c)
        mean[c] += key[c] / static_cast<unsigned long>(keys.size());
      longest = std::max(longest, dot(key, key));
    }
    bounded += dot(mean, mean) <= longest ? 1 : 0;
  }
  argument.require(bounded == all, "{} of {} random groups have a mean no longer than the longest",
                   bounded, all);
  return ClaimVerdict::proved;
}

ClaimVerdict argue_score_difference(Argument& argument, const TrainedModel* /*model*/) {
  argument.attach(polynomial_identity("q*k - p*k", "(q - p)*k"));
  argument.require(true, "q_i.k - q_j.k = (q_i - q_j).k, coordinate by coordinate");
  return ClaimVerdict::proved;
}

ClaimVerdict argue_rescaling(Argument& argument, const TrainedModel* /*model*/) {
  // i stands for 1 / c: the difference vanishes with c i - 1.
  argument.attach(polynomial_identity("(c*q)*(i*k) - q*k", "(c*i - 1)*(q*k)"));
  // Keys that the mean keeps up to a factor: K = c Kbar gives q.K = (c q).Kbar.
  argument.attach(polynomial_identity("q*(c*m)", "(c*q)*m"));
  argument.require(true, "the factor c of the query and 1/c of the key cancel in every product");
  argument.say(
      "so rescaled queries make up for a mean key exactly if the head's keys are that "
      "multiple of it: a difference K - c Kbar in any other direction is seen by the query "
      "along it");
  return ClaimVerdict::proved;
}

ClaimVerdict argue_mean_query(Argument& argument, const TrainedModel* /*model*/) {
  // Two heads; h by induction: the sum over heads of m.K_i is m.(sum K_i) = h m.(mean K).
  argument.attach(polynomial_identity("m*k + m*l", "m*(k + l)"));
  argument.require(true, "the mean query is one vector m: sum m.K_i = m.sum K_i = h m.mean K");
  return ClaimVerdict::proved;
}

ClaimVerdict argue_pattern_freedom(Argument& argument, const TrainedModel* /*model*/) {
  RankConfiguration c;
  c.group_size = 4;
  c.positions = 12;
  c.value_size = c.key_size = 2;
  c.tied = true;
  const nlohmann::ordered_json own = rank_certificate(stacked_output_of_witness(c, 1, true));
  const nlohmann::ordered_json shared = rank_certificate(stacked_output_of_witness(c, 1, false));
  argument.require(own["rows"].size() == 8, "one pattern for 4 heads, own histories of 2: rank {}",
                   own["rows"].size());
  argument.require(shared["rows"].size() == 2, "one pattern, one history: rank {}",
                   shared["rows"].size());
  argument.attach(own);
  argument.attach(shared);
  c.tied = false;
  const nlohmann::ordered_json free = rank_certificate(stacked_output_of_witness(c, 1, false));
  argument.require(free["rows"].size() == 8, "free patterns, one history: rank {}",
                   free["rows"].size());
  argument.attach(free);
  argument.say("either freedom alone carries the rank: without both it is at most d_v");
  return ClaimVerdict::refuted;
}

ClaimVerdict argue_never_tied(Argument& argument, const TrainedModel* /*model*/) {
  // Equal query projections: one query for all heads at each position.
  const Matrix strengths{{1, 2, 4}, {1, 3, 9}, {1, 5, 25}}, values{{1, 0}, {0, 1}, {1, 1}};
  Matrix pattern = strengths;
  for (Row& row : pattern) {
    Rational sum = 0;
    for (const Rational& x : row) sum += x;
    for (Rational& x : row) x /= sum;
  }
  const nlohmann::ordered_json tied =
      rank_certificate(output_operands({values}, {pattern}, {}, 3, false));
  argument.require(
      tied["rows"].size() == 2,
      "three heads with equal query projections have one pattern: rank {} of at most 3",
      tied["rows"].size());
  argument.attach(tied);
  const nlohmann::ordered_json one =
      rank_certificate(output_operands({{{1, 2}}}, {{{1}}}, {}, 3, false));
  argument.require(one["rows"].size() == 1, "on one position every pattern is 1: rank {}",
                   one["rows"].size());
  argument.attach(one);
  argument.say("own query projections leave patterns free for almost all weights, not for all");
  return ClaimVerdict::refuted;
}

}  // namespace

const Claim claim_hh{
    .id = "hh",
    .title = "mass-anywhere",
    .statement = "A query head can place its mass wherever it likes",
    .scope = "shared keys, finite scores",
    .certificate =
        "keys 0, 1, 2: the middle weight 1/2 is reached by no query, 1/3 is the most; in general 1 "
        "/ "
        "(1 + exp(H)) for a key that is a mean of others with weights of entropy H",
    .argue = argue_mass};

const Claim claim_ii{.id = "ii",
                     .title = "compensated-conflation",
                     .statement =
                         "Where a shared value conflates two positions, the query can "
                         "compensate by weighting one of them more",
                     .scope = "every query, two positions with one value",
                     .certificate = "the output depends on w_0 + w_1 alone: a polynomial identity",
                     .argue = argue_compensation};

const Claim claim_jj{.id = "jj",
                     .title = "averaging-softens",
                     .statement =
                         "Averaging pulls down the norm of a head's large key and softens "
                         "its attention",
                     .scope = "every query and group of keys",
                     .certificate =
                         "K = (3,0), (0,29/10) and q = (1/10,1): the norm falls, the score "
                         "rises from 3/10 to 8/5",
                     .argue = argue_softening};

const Claim claim_kk{
    .id = "kk",
    .title = "mean-norm",
    .statement = "The mean of a group's keys is no longer than the longest of them",
    .scope = "every group",
    .certificate = "the triangle inequality; for two heads the difference is a square",
    .argue = argue_mean_norm};

const Claim claim_ll{.id = "ll",
                     .title = "score-differences",
                     .statement =
                         "Scores of two heads of a group differ only through their "
                         "queries: s_i - s_j = (q_i - q_j).k",
                     .scope = "every shared key",
                     .certificate = "q k - p k = (q - p) k",
                     .argue = argue_score_difference};

const Claim claim_mm{.id = "mm",
                     .title = "rescaled-queries",
                     .statement =
                         "A factor between query and key changes no score: (c q).(k / c) = "
                         "q.k for every c but 0",
                     .scope = "every query and key",
                     .certificate = "the product changes by (c i - 1) q k, i = 1/c",
                     .argue = argue_rescaling};

const Claim claim_nn{.id = "nn",
                     .title = "mean-query",
                     .statement =
                         "At the mean query the mean key keeps the sum of scores: sum "
                         "qbar.K_i = h qbar.mean K",
                     .scope = "every group of h heads",
                     .certificate = "m k + m l = m (k + l)",
                     .argue = argue_mean_query};

const Claim claim_oo{
    .id = "oo",
    .title = "pattern-freedom",
    .statement = "Pattern freedom, not value freedom, carries the output rank",
    .scope = "stacked outputs of a group",
    .certificate = "one pattern with own histories: rank 8 of 8, as free patterns on one history",
    .argue = argue_pattern_freedom};

const Claim claim_pp{
    .id = "pp",
    .title = "never-tied",
    .statement =
        "As every head has its own query projection, the cap d_v on the rank never triggers",
    .scope = "all query projections and histories",
    .certificate = "equal query projections, and a single position: ranks d_v and 1",
    .argue = argue_never_tied};

}  // namespace gqa
