#include "gqa/exact/pooling.hpp"
#include "gqa/theory/claims/certificates.hpp"
#include "gqa/theory/claims/claims.hpp"
#include "gqa/theory/claims/instances.hpp"

namespace gqa {
namespace {

using namespace claim_instances;
namespace certificates = claim_certificates;

ClaimVerdict argue_j(Argument& argument, const TrainedModel* /*model*/) {
  const std::vector<Matrix> values{{{2, 0}, {2, 0}}, {{0, 6}, {0, 6}}};
  const std::vector<Matrix> keys{{{0}, {0}}, {{0}, {0}}};
  const std::vector<Matrix> queries{{{0}}, {{0}}};
  const auto own = attention(with_queries(2, queries, keys, values)).output;
  Problem<GmpNumbers> pooled = with_queries(2, queries, keys, values);
  pooled.key = mean_pool_heads(pooled.key, 1);
  pooled.value = mean_pool_heads(pooled.value, 1);
  const auto shared = attention(pooled).output;
  const Row mean{1, 3};
  for (std::int64_t h = 0; h < 2; ++h) {
    const Row one = row_of(own, h);
    argument.require(row_of(shared, h) == mean && one == values[static_cast<std::size_t>(h)][0],
                     "head {}: {} becomes {}", h, to_text(one), to_text(row_of(shared, h)));
    argument.attach(certificates::mean_pooled_output(keys, values, h, {2}, one, mean));
  }
  return ClaimVerdict::proved;
}

}  // namespace

const Claim claim_j{
    .id = "j",
    .title = "pooling-loses",
    .statement =
        "Mean pooling of the histories (2,0), (2,0) and (0,6), (0,6) gives (1,3) for both heads: "
        "pooling loses",
    .scope = "these two histories, zero queries",
    .certificate = "exact attention before and after pooling, and the difference as a certificate",
    .argue = argue_j};

}  // namespace gqa
