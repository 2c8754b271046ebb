#include "gqa/theory/claims/certificates.hpp"
#include "gqa/theory/claims/claims.hpp"

namespace gqa {
namespace {

using claim_certificates::require_bytes;

ClaimVerdict argue_o(Argument& argument, const TrainedModel* /*model*/) {
  const mpz_class gib = mpz_class(1) << 30, mib = mpz_class(1) << 20;
  const mpz_class elements = mpz_class(2) * 4096 * 8 * 128;
  argument.require(elements == 8'388'608, "K of a layer has {} elements", elements.get_str());
  require_bytes(argument, {1, 2, 4096, 8, 128, 2}, 32 * mib);
  require_bytes(argument, {32, 2, 4096, 8, 128, 2}, gib);
  argument.require(gib == 1'073'741'824, "1 GiB is {} bytes", gib.get_str());
  require_bytes(argument, {32, 2, 4096, 32, 128, 2}, 4 * gib);
  require_bytes(argument, {32, 2, 4096, 1, 128, 2}, 128 * mib);
  require_bytes(argument, {32, 2, 1024, 32, 128, 2}, gib);
  require_bytes(argument, {32, 8, 4096, 8, 128, 2}, 4 * gib);
  return ClaimVerdict::proved;
}

}  // namespace

const Claim claim_o{.id = "o",
                    .title = "cache-of-32-layers",
                    .statement =
                        "L = 32, B = 2, S = 4096, Hkv = 8, d = 128, 2 bytes: 8,388,608 elements "
                        "per K, 32 MiB per layer, 1 GiB in all; Hkv = 32: 4 GiB; Hkv = 1: 128 MiB; "
                        "S = 1024 at Hkv = 32 takes 1 GiB; B = 8 at Hkv = 8 is 4 GiB again",
                    .scope = "these sizes",
                    .certificate = "2 L B S Hkv d elements of 2 bytes",
                    .argue = argue_o};

}  // namespace gqa
