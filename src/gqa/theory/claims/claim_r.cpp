#include <algorithm>
#include <random>

#include "gqa/theory/claims/certificates.hpp"
#include "gqa/theory/claims/claims.hpp"
#include "gqa/theory/claims/rank_steps.hpp"

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
  argument.attach(claim_certificates::rank_lower_bound(own));
  argument.attach(claim_certificates::rank_lower_bound(shared));
  argument.attach(claim_certificates::rank_upper_bound(shared));
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
    .argue = argue_r};

}  // namespace gqa
