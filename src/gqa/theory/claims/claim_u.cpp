#include "gqa/theory/claims/certificates.hpp"
#include "gqa/theory/claims/claims.hpp"
#include "gqa/theory/claims/rank_steps.hpp"
#include "gqa/theory/rank_witness.hpp"

namespace gqa {
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
  argument.attach(claim_certificates::rank_upper_bound(stack));
  argument.attach(claim_certificates::rank_lower_bound(stack));
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

}  // namespace gqa
