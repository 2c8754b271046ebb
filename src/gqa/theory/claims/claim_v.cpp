#include <algorithm>
#include <random>
#include <utility>

#include "gqa/theory/claims/certificates.hpp"
#include "gqa/theory/claims/claims.hpp"
#include "gqa/theory/claims/rank_steps.hpp"

namespace gqa {
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
    argument.attach(claim_certificates::rank_lower_bound(sum));
    argument.attach(claim_certificates::rank_upper_bound(sum));
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
    .argue = argue_v};

}  // namespace gqa
