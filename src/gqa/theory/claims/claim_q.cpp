#include "gqa/attention/attention.hpp"
#include "gqa/theory/claims/certificates.hpp"
#include "gqa/theory/claims/claims.hpp"

namespace gqa {
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
