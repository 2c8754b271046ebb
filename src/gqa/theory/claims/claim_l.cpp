#include "gqa/theory/claims/certificates.hpp"
#include "gqa/theory/claims/claims.hpp"
#include "gqa/theory/claims/projection_sizes.hpp"

namespace gqa {
namespace {

using claim_instances::ProjectionSizes;

ClaimVerdict argue_l(Argument& argument, const TrainedModel* /*model*/) {
  const ProjectionSizes sizes{1024, 16, 4};
  argument.require(sizes.key_rows() == 256, "key weight {} x {}", sizes.key_rows(),
                   sizes.model_size);
  argument.require(sizes.total() == 2'621'440, "{} + {} + {} + {} = {}",
                   sizes.query_weight().get_str(), sizes.key_weight().get_str(),
                   sizes.value_weight().get_str(), sizes.output_weight().get_str(),
                   sizes.total().get_str());
  argument.attach(claim_certificates::polynomial_identity(
      "1024*1024 + 256*1024 + 256*1024 + 1024*1024", "2621440"));
  argument.attach(claim_certificates::polynomial_identity("4*64", "256"));
  return ClaimVerdict::proved;
}

}  // namespace

const Claim claim_l{.id = "l",
                    .title = "a-layer-of-1024",
                    .statement =
                        "D = 1024, Hq = 16, Hkv = 4: the key weight is 256 x 1024, the projections "
                        "have 2,621,440 parameters",
                    .scope = "this layer",
                    .certificate = "the shapes, multiplied and added",
                    .argue = argue_l};

}  // namespace gqa
