#include <fmt/ranges.h>

#include "gqa/attention/dimensions.hpp"
#include "gqa/theory/claims/certificates.hpp"
#include "gqa/theory/claims/claims.hpp"

namespace gqa {
namespace {

ClaimVerdict argue_m(Argument& argument, const TrainedModel* /*model*/) {
  const auto map = resolve_head_map({}, 8, 2);
  std::vector<std::int64_t> served;
  for (std::int64_t h = 0; h < 8; ++h) {
    if (map[static_cast<std::size_t>(h)] == 1) served.push_back(h);
  }
  argument.require(served == std::vector<std::int64_t>{4, 5, 6, 7}, "KV head 1 serves {}",
                   fmt::join(served, ", "));
  // h = 4 kv + r with 0 <= r < 4: the first and the last head of KV head 1.
  argument.attach(claim_certificates::polynomial_identity("4*1 + 0", "4"));
  argument.attach(claim_certificates::polynomial_identity("4*1 + 3", "7"));
  return ClaimVerdict::proved;
}

}  // namespace

const Claim claim_m{.id = "m",
                    .title = "heads-of-a-kv-head",
                    .statement = "Hq = 8, Hkv = 2: KV head 1 serves query heads 4 to 7",
                    .scope = "the contiguous map",
                    .certificate = "the head map, resolved",
                    .argue = argue_m};

}  // namespace gqa
