#include "gqa/theory/claims/certificates.hpp"
#include "gqa/theory/claims/claims.hpp"
#include "gqa/theory/claims/rank_steps.hpp"

namespace gqa {
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
  argument.attach(claim_certificates::rank_upper_bound(stack));
  return ClaimVerdict::proved;
}

}  // namespace

const Claim claim_t{
    .id = "t",
    .title = "tied-patterns",
    .statement = "With one pattern for all heads the stacked output collapses to rank d_v",
    .scope = "G = 8, d_v = 16, N = 128; an exact witness with G = 4, d_v = 2, N = 12",
    .certificate =
        "P V [W_1 | ... | W_G] has the d_v columns of P V in between; factors of a witness",
    .argue = argue_t};

}  // namespace gqa
