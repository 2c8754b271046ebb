#include "gqa/theory/claims/certificates.hpp"
#include "gqa/theory/claims/claims.hpp"
#include "gqa/theory/claims/rank_steps.hpp"

namespace gqa {
namespace {

using namespace claim_instances;

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
  argument.attach(claim_certificates::rank_lower_bound(stack));
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
        "configurations: G = 8, d_v = 16, N = 128, d_model unstated, 4 and 64; softmax-reachable, "
        "causal, windowed; small sizes",
    .certificate =
        "a softmax-reachable rational witness modulo a prime, and the count of dimensions",
    .argue = argue_s};

}  // namespace gqa
