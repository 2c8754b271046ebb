#include "gqa/theory/claims/certificates.hpp"
#include "gqa/theory/claims/claims.hpp"
#include "gqa/theory/claims/instances.hpp"

namespace gqa {
namespace {

using namespace claim_instances;
namespace certificates = claim_certificates;

ClaimVerdict argue_c(Argument& argument, const TrainedModel* /*model*/) {
  const Matrix values{{4, 0}, {0, 8}};
  const auto result =
      attention(with_queries(3, {{{0, 0}}, {{1, 1}}}, {{{1, 0}, {0, 1}}}, {values}));
  const Row expected{2, 4};
  for (std::int64_t h = 0; h < 2; ++h) {
    argument.require(row_of(result.output, h) == expected, "query {} gives {}", h,
                     to_text(row_of(result.output, h)));
  }
  argument.attach(
      certificates::attainable_point(values, expected, {fraction(1, 2), fraction(1, 2)}));
  return ClaimVerdict::proved;
}

}  // namespace

const Claim claim_c{
    .id = "c",
    .title = "different-queries-equal-outputs",
    .statement = "The queries (0,0) and (sqrt(2) ln 3, sqrt(2) ln 3) both give (2,4)",
    .scope = "keys (1,0), (0,1), values (4,0), (0,8)",
    .certificate = "exact attention; (2,4) as the point of weights 1/2, 1/2",
    .argue = argue_c};

}  // namespace gqa
