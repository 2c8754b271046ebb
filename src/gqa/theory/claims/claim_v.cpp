#include <utility>

#include "gqa/theory/claims/claims.hpp"
#include "gqa/theory/claims/rank_steps.hpp"

namespace gqa {
namespace {

using namespace claim_instances;

ClaimVerdict argue(Argument& argument, const TrainedModel* /*model*/) {
  RankConfiguration c = rank_group(4, 64, 8);
  for (const auto& [model_size, expected] : {std::pair{10, 10}, {32, 32}, {64, 32}}) {
    c.model_size = model_size;
    require_rank(argument, c, "summed output, shared values", expected);
  }
  return ClaimVerdict::proved;
}

}  // namespace

const Claim claim_v{
    .id = "v",
    .title = "summed-output",
    .statement =
        "The summed output, sum of P_h V W_h, is bounded by d_model as well: min(N, d_model, G "
        "d_v)",
    .scope = "G = 4, d_v = 8, N = 64, d_model = 10, 32, 64",
    .certificate = "an integer witness modulo a prime against the count of dimensions",
    .argue = argue};

}  // namespace gqa
