#include "gqa/theory/claims/certificates.hpp"
#include "gqa/theory/claims/claims.hpp"
#include "gqa/theory/claims/instances.hpp"

namespace gqa {
namespace {

using namespace claim_instances;
namespace certificates = claim_certificates;

ClaimVerdict argue_a(Argument& argument, const TrainedModel* /*model*/) {
  const Matrix values{{4, 0}, {0, 8}};
  // Scaled by 1/sqrt(2) the queries are (ln 3, 0) and (0, ln 3).
  const auto result =
      attention(with_queries(3, {{{1, 0}}, {{0, 1}}}, {{{1, 0}, {0, 1}}}, {values}));
  const Matrix weights{{fraction(3, 4), fraction(1, 4)}, {fraction(1, 4), fraction(3, 4)}};
  const Matrix outputs{{3, 2}, {1, 6}};
  for (std::int64_t h = 0; h < 2; ++h) {
    const auto at = static_cast<std::size_t>(h);
    argument.require(
        row_of(result.weights, h) == weights[at] && row_of(result.output, h) == outputs[at],
        "head {}: weights {}, output {}", h, to_text(row_of(result.weights, h)),
        to_text(row_of(result.output, h)));
    argument.attach(certificates::attainable_point(values, outputs[at], weights[at]));
  }
  return ClaimVerdict::proved;
}

}  // namespace

const Claim claim_a{
    .id = "a",
    .title = "exact-outputs",
    .statement =
        "Keys (1,0), (0,1) and values (4,0), (0,8): weights 3/4, 1/4 give (3,2), weights 1/4, 3/4 "
        "give (1,6)",
    .scope = "the two queries sqrt(2) ln 3 (1,0) and sqrt(2) ln 3 (0,1), d_k = 2, default scale",
    .certificate = "exact attention; the outputs as attainable points with these weights",
    .argue = argue_a};

}  // namespace gqa
