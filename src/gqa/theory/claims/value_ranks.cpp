// Ranks of a group's values and outputs.
#include <algorithm>
#include <random>
#include <utility>

#include "gqa/theory/claims/certificates.hpp"
#include "gqa/theory/claims/claims.hpp"
#include "gqa/theory/claims/rank_steps.hpp"
#include "gqa/theory/rank_certificates.hpp"
#include "gqa/theory/rank_witness.hpp"

namespace gqa {
namespace {

using namespace claim_instances;

ClaimVerdict argue_r(Argument& argument, const TrainedModel* /*model*/) {
  for (const std::int64_t n : {16, 64, 128, 200}) {
    require_rank(argument, rank_group(8, n, 16), "values, shared", 16);
    require_rank(argument, rank_group(8, n, 16), "values, one history per head",
                 std::min<std::int64_t>(n, 128));
  }
  require_all_proved(argument, "values");
  std::mt19937_64 engine(1);
  const Matrix own = random_integers(engine, 9, 6);  // G = 3 histories of d_v = 2, side by side
  Matrix shared = random_integers(engine, 9, 2);
  for (Row& row : shared) row.insert(row.end(), {row[0], row[1], row[0], row[1]});
  argument.require(rank(own) == 6 && rank(shared) == 2,
                   "over the rationals, G = 3, d_v = 2, N = 9: rank {} of own histories, {} of a "
                   "shared one",
                   rank(own), rank(shared));
  argument.say(
      "all sizes: ones on the diagonal of the histories side by side give min(N, d_v) and "
      "min(N, G d_v), as many as there are rows or different columns");
  const RankConfiguration c = rank_group(3, 9, 2);
  argument.attach(rank_certificate(values_of_witness(c, 1, false)));
  argument.attach(rank_certificate(values_of_witness(c, 1, true)));
  return ClaimVerdict::proved;
}

}  // namespace

const Claim claim_r{
    .id = "r",
    .title = "value-dictionary",
    .statement =
        "The values of a group have generic rank min(N, d_v) when V is shared and min(N, G d_v) "
        "when "
        "it is not: a factor G needs N >= G d_v",
    .scope = "all sizes; instances G = 8, d_v = 16, N = 16, 64, 128, 200 and small sizes",
    .certificate = "unit matrices against the count of dimensions; integer witnesses with operands",
    .argue = argue_r};

namespace {

using namespace claim_instances;

// For all N, G, d_v, d_model, d_k >= 1: a witness for each, by words.
void say_general_proof(Argument& argument) {
  argument.say("all sizes, m = min(d_v, d_model): let W_h show the first m coordinates");
  argument.say("N <= m: values with ones on the diagonal and one invertible pattern (claim uu)");
  argument.say(
      "N > m: ones on the diagonal, then zeros: a row is (c(q_1), ..., c(q_G)), c(q) the "
      "first m weights of a query; with d_k = 1 and distinct keys these rows span all G m "
      "dimensions: a functional that kills them makes each sum_j a_hj c_j(q) a constant "
      "kappa_h; the coefficient of exp(q k_l), l > m, is kappa_h = 0, so a = 0; take min(N, G "
      "m) independent rows");
  argument.say(
      "causal: the same queries in all heads for the first m rows, which make a triangle; "
      "differences c(q_h) - c(q_1) in the others: m + min(N - m, (G - 1) m)");
  argument.say("own histories: copies of the shared one; more than N, or G m, it cannot be");
}

ClaimVerdict argue_s(Argument& argument, const TrainedModel* /*model*/) {
  const char* const shared = "stacked output, shared values";
  RankConfiguration c = rank_group(8, 128, 16);
  require_rank(argument, c, shared, 128);
  require_rank(argument, c, "stacked output, one history per head", 128);
  c.model_size = 4;
  require_rank(argument, c, shared, 32);
  c.model_size = 64;
  c.softmax_reachable = true;
  require_rank(argument, c, shared, 128);
  c.causal = true;
  require_rank(argument, c, shared, 128);
  c.window = 5;
  require_rank(argument, c, shared, 128);
  require_all_proved(argument, "stacked output");
  RankConfiguration small = rank_group(4, 8, 2);
  small.softmax_reachable = true;
  const Matrix stack = exact_stack(small);
  argument.require(rank(stack) == 8,
                   "over the rationals a softmax-reachable witness with G = 4, "
                   "d_v = 2, N = 8 has rank {}",
                   rank(stack));
  say_general_proof(argument);
  for (const bool causal : {false, true}) {
    small.causal = causal;
    argument.attach(rank_certificate(stacked_output_of_witness(small, 1, false)));
    argument.attach(rank_certificate(stacked_output_of_witness(small, 1, true)));
  }
  return ClaimVerdict::proved;
}

}  // namespace

const Claim claim_s{
    .id = "s",
    .title = "stacked-output",
    .statement =
        "[P_1 V W_1 | ... | P_G V W_G] has generic rank min(N, G min(d_v, d_model)), the same as "
        "with independent values",
    .scope =
        "all sizes, softmax-reachable with any d_k >= 1, causal or not; with windows the instances "
        "computed: G = 8, d_v = 16, N = 128, and small sizes",
    .certificate =
        "a witness for all sizes against the count of dimensions; softmax-reachable witnesses with "
        "operands",
    .argue = argue_s};

namespace {

using namespace claim_instances;

ClaimVerdict argue_t(Argument& argument, const TrainedModel* /*model*/) {
  RankConfiguration c = rank_group(8, 128, 16);
  c.tied = true;
  require_rank(argument, c, "stacked output, shared values", 16);
  c = rank_group(4, 12, 2);
  c.tied = true;
  const Matrix stack = exact_stack(c);
  argument.require(rank(stack) == 2, "G = 4, d_v = 2, N = 12 over the rationals: rank {}",
                   rank(stack));
  argument.say(
      "all sizes: P V [W_1 | ... | W_G] has the d_v columns of P V in between; copies show "
      "that d_v is reached if N and G d_model allow it");
  argument.attach(rank_certificate(stacked_output_of_witness(c, 1, false)));
  return ClaimVerdict::proved;
}

}  // namespace

const Claim claim_t{
    .id = "t",
    .title = "tied-patterns",
    .statement = "With one pattern for all heads the stacked output has rank at most d_v",
    .scope = "all sizes; instances G = 8, d_v = 16, N = 128 and G = 4, d_v = 2, N = 12",
    .certificate =
        "P V [W_1 | ... | W_G] has the d_v columns of P V in between; factors of a witness",
    .argue = argue_t};

namespace {

using namespace claim_instances;

ClaimVerdict argue_u(Argument& argument, const TrainedModel* /*model*/) {
  RankConfiguration c = rank_group(4, 12, 2);
  c.constant_column = true;
  const Matrix stack = exact_stack(c);
  const Problem<GmpNumbers> problem = RankWitness(c, 1).problem();
  bool untied = true;
  for (std::int64_t g = 0; g < 4; ++g) {
    for (std::int64_t h = 0; h < g; ++h) {
      untied = untied && to_matrix(problem.strengths->matrix(0, g)) !=
                             to_matrix(problem.strengths->matrix(0, h));
    }
  }
  argument.require(untied,
                   "N = 12, G = 4, d_v = 2, second value coordinate 1: four different "
                   "patterns");
  argument.require(rank(stack) == 5, "their stacked output has rank {}, not 8", rank(stack));
  require_rank(argument, c, "stacked output, shared values", 5);
  argument.attach(rank_certificate(stacked_output_of_witness(c, 1, false)));
  argument.say(
      "why: every row-stochastic P fixes the constant column, so the four column spaces "
      "P_h V share it: 1 + 4 (2 - 1) = 5");
  Problem<GmpNumbers> identical = problem;
  for (Rational& v : identical.value.data()) v = 3;
  const std::size_t one = rank(stacked_outputs(identical));
  argument.require(one == 1, "identical values with the same four patterns: rank {}", one);
  argument.say(
      "the right condition: the rank is the dimension of the sum of the blocks' column "
      "spaces, and equals that of one block exactly if the blocks share one column space");
  Matrix pair;
  for (const Row& row : stack) pair.push_back({row[0], row[1], row[2], row[3]});
  argument.require(rank(pair) == 3, "two blocks: 2 + 2 less the shared line = {}", rank(pair));
  return ClaimVerdict::refuted;
}

}  // namespace

const Claim claim_u{
    .id = "u",
    .title = "collapse-only-if-tied",
    .statement = "The stacked output loses rank only if the attention patterns are tied",
    .scope = "all row-stochastic patterns",
    .certificate =
        "untied patterns on values with a constant column: rank 5, not 8, with factors and a minor",
    .argue = argue_u};

namespace {

using namespace claim_instances;

ClaimVerdict argue_v(Argument& argument, const TrainedModel* /*model*/) {
  RankConfiguration c = rank_group(4, 64, 8);
  for (const auto& [model_size, expected] : {std::pair{10, 10}, {32, 32}, {64, 32}}) {
    c.model_size = model_size;
    require_rank(argument, c, "summed output, shared values", expected);
  }
  // The stack [P_1 V | ... | P_G V] times the heads' projections on top of each other.
  const Matrix stack = exact_stack(rank_group(3, 9, 2));
  std::mt19937_64 engine(1);
  for (const std::size_t model_size : {std::size_t{4}, std::size_t{9}}) {
    const Matrix sum = product(stack, random_integers(engine, 6, model_size));
    argument.require(rank(sum) == std::min<std::size_t>(model_size, 6),
                     "over the rationals, G = 3, d_v = 2, N = 9, d_model = {}: rank {}", model_size,
                     rank(sum));
  }
  argument.say(
      "all sizes: the stack of unprojected heads, of generic rank min(N, G d_v) (claim s), "
      "times any matrix of as many rows: a generic one keeps min(that, d_model)");
  c = rank_group(3, 9, 2);
  for (const std::int64_t model_size : {4, 9}) {
    c.model_size = model_size;
    argument.attach(rank_certificate(summed_output_of_witness(c, 1)));
  }
  return ClaimVerdict::proved;
}

}  // namespace

const Claim claim_v{
    .id = "v",
    .title = "summed-output",
    .statement =
        "The summed output, sum of P_h V W_h, is bounded by d_model as well: generic rank min(N, "
        "d_model, G d_v)",
    .scope = "generic rank, all sizes; instances G = 4, d_v = 8, N = 64, d_model = 10, 32, 64",
    .certificate = "the stack of claim (s) times a generic matrix; witnesses with operands",
    .argue = argue_v};

}  // namespace gqa
