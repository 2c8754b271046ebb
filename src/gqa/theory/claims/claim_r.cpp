#include <algorithm>

#include "gqa/theory/claims/claims.hpp"
#include "gqa/theory/claims/rank_steps.hpp"

namespace gqa {
namespace {

using namespace claim_instances;

ClaimVerdict argue(Argument& argument, const TrainedModel* /*model*/) {
  for (const std::int64_t n : {16, 64, 128, 200}) {
    require_rank(argument, rank_group(8, n, 16), "values, shared", 16);
    require_rank(argument, rank_group(8, n, 16), "values, one history per head",
                 std::min<std::int64_t>(n, 128));
  }
  require_all_proved(argument, "values");
  return ClaimVerdict::proved;
}

}  // namespace

const Claim claim_r{
    .id = "r",
    .title = "value-dictionary",
    .statement =
        "The values of a group have rank min(N, d_v) when V is shared and min(N, G d_v) when it is "
        "not: a factor G needs N >= G d_v",
    .scope = "generic rank, proved at G = 8, d_v = 16, N = 16, 64, 128, 200 and for small sizes",
    .certificate = "an integer witness modulo a prime against the count of dimensions",
    .argue = argue};

}  // namespace gqa
