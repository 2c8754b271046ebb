#include "gqa/theory/claims/certificates.hpp"
#include "gqa/theory/claims/claims.hpp"
#include "gqa/theory/claims/projection_sizes.hpp"

namespace gqa {
namespace {

using claim_instances::ProjectionSizes;

ClaimVerdict argue_k(Argument& argument, const TrainedModel* /*model*/) {
  const ProjectionSizes grouped{16, 4, 2}, full{16, 4, 4};
  argument.require(grouped.total() == 768, "Hkv = 2: {}", grouped.total().get_str());
  argument.require(full.total() == 1024, "Hkv = 4: {}", full.total().get_str());
  int agreeing = 0, all = 0;
  for (long heads = 1; heads <= 12; ++heads) {
    for (long kv = 1; kv <= heads; ++kv) {
      for (long d = 1; heads % kv == 0 && d <= 8; ++d) {
        const long width = heads * d;
        const ProjectionSizes sizes{width, heads, kv};
        agreeing += sizes.total() == 2 * width * width + 2 * width * kv * d ? 1 : 0;
        ++all;
      }
    }
  }
  argument.require(agreeing == all, "{} of {} sums of shapes equal 2 D^2 + 2 D Hkv d", agreeing,
                   all);
  argument.attach(claim_certificates::polynomial_identity("D*D + Hkv*d*D + Hkv*d*D + D*D",
                                                          "2*D*D + 2*D*Hkv*d"));
  argument.attach(claim_certificates::polynomial_identity("2*16*16 + 2*16*2*4", "768"));
  argument.attach(claim_certificates::polynomial_identity("2*16*16 + 2*16*4*4", "1024"));
  return ClaimVerdict::proved;
}

}  // namespace

const Claim claim_k{
    .id = "k",
    .title = "projection-parameters",
    .statement =
        "D = 16, Hq = 4, Hkv = 2: 768 projection parameters against 1024 of MHA; in general 2 D^2 "
        "+ 2 D Hkv d",
    .scope = "every D = Hq d; compared for all Hq <= 12, every divisor Hkv, d <= 8",
    .certificate = "the areas of Wq [D,D], Wk and Wv [Hkv d, D], Wo [D,D] add up to it",
    .argue = argue_k};

}  // namespace gqa
