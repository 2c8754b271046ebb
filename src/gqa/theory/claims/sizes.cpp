// Parameters, bytes and multiply-adds, as exact integers.
#include "gqa/attention/attention.hpp"
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

namespace {

// Floats that count the products of their score dot products.
struct CountingNumbers : RealNumbers<double> {
  static thread_local std::int64_t products;
  static double dot(std::span<const double> query, std::span<const double> key) {
    products += static_cast<std::int64_t>(query.size());
    return RealNumbers<double>::dot(query, key);
  }
};
thread_local std::int64_t CountingNumbers::products = 0;

ClaimVerdict argue_q(Argument& argument, const TrainedModel* /*model*/) {
  const std::int64_t queries = 3, keys = 5, width = 4;
  std::vector<std::int64_t> counts;
  for (const std::int64_t kv_heads : {8, 2, 1}) {
    Problem<CountingNumbers> problem;
    problem.query = Tensor<double>({1, 8, queries, width}, 0.5);
    problem.key = Tensor<double>({1, kv_heads, keys, width}, 0.25);
    problem.value = Tensor<double>({1, kv_heads, keys, width}, 1.0);
    CountingNumbers::products = 0;
    attention(problem);
    counts.push_back(CountingNumbers::products);
    argument.require(counts.back() == 8 * queries * keys * width,
                     "Hkv = {}: {} multiply-adds for QK = Hq T S d_k", kv_heads, counts.back());
  }
  // Hq = G Hkv query heads of T x S products each: Hkv cancels against the group size.
  argument.attach(claim_certificates::polynomial_identity("Hkv*(G*T*S*d)", "(G*Hkv)*T*S*d"));
  return ClaimVerdict::proved;
}

}  // namespace

const Claim claim_q{
    .id = "q",
    .title = "multiply-adds",
    .statement = "Four times fewer KV heads do not mean fewer QK multiply-adds",
    .scope = "every Hkv: the count B Hq T S d_k does not name it; counted for Hq = 8",
    .certificate = "multiplications counted while the formula runs",
    .argue = argue_q};

}  // namespace gqa
