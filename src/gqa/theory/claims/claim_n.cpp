#include "gqa/theory/claims/certificates.hpp"
#include "gqa/theory/claims/claims.hpp"

namespace gqa {
namespace {

using claim_certificates::CacheSize;
using claim_certificates::require_bytes;

ClaimVerdict argue_n(Argument& argument, const TrainedModel* /*model*/) {
  const CacheSize full{1, 1, 2048, 32, 128, 2}, grouped{1, 1, 2048, 4, 128, 2};
  require_bytes(argument, full, 33'554'432);
  require_bytes(argument, grouped, 4'194'304);
  const mpz_class saved = full.bytes() - grouped.bytes();
  argument.require(saved == 29'360'128 && saved == mpz_class(28) << 20, "saved: {} bytes",
                   saved.get_str());
  return ClaimVerdict::proved;
}

}  // namespace

const Claim claim_n{.id = "n",
                    .title = "bytes-saved-per-layer",
                    .statement =
                        "B = 1, T = 2048, d = 128, 2 bytes: 32 -> 4 KV heads saves 29,360,128 "
                        "bytes (28 MiB) per layer",
                    .scope = "this layer",
                    .certificate = "2 B T Hkv d bytes for K and for V, before and after",
                    .argue = argue_n};

}  // namespace gqa
