#include "gqa/theory/claims/certificates.hpp"
#include "gqa/theory/claims/claims.hpp"

namespace gqa {
namespace {

using claim_certificates::require_bytes;

ClaimVerdict argue_p(Argument& argument, const TrainedModel* /*model*/) {
  require_bytes(argument, {32, 1, 4096, 32, 128, 2}, mpz_class(2) << 30);
  require_bytes(argument, {32, 1, 4096, 8, 128, 2}, mpz_class(512) << 20);
  return ClaimVerdict::proved;
}

}  // namespace

const Claim claim_p{
    .id = "p",
    .title = "cache-of-width-4096",
    .statement = "h = 32, g = 8, L = 32, 4096 positions, width 4096, 16 bit: 2 GiB against 512 MiB",
    .scope = "one sequence",
    .certificate = "2 L S Hkv d elements of 2 bytes, d = 4096 / 32",
    .argue = argue_p};

}  // namespace gqa
