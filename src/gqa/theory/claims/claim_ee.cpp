#include "gqa/theory/claims/claims.hpp"
#include "gqa/theory/claims/instances.hpp"

namespace gqa {
namespace {

using namespace claim_instances;

std::vector<Matrix> weights(std::mt19937_64& engine, std::int64_t heads) {
  std::vector<Matrix> result;
  for (std::int64_t h = 0; h < heads; ++h) result.push_back(random_integers(engine, 4, 2));
  return result;
}

// Queries are stated scaled, in units of ln 2.
Tensor<Rational> layer(const Matrix& input, const std::vector<Matrix>& wq,
                       const std::vector<Matrix>& wk, const std::vector<Matrix>& wv) {
  const auto project = [&input](const std::vector<Matrix>& all) {
    std::vector<Matrix> heads;
    for (const Matrix& w : all) heads.push_back(product(input, w));
    return heads;
  };
  return attention(with_queries(2, project(wq), project(wk), project(wv))).output;
}

ClaimVerdict argue_ee(Argument& argument, const TrainedModel* /*model*/) {
  std::mt19937_64 engine(1);
  int equal = 0, different = 0, all = 0;
  for (const std::int64_t heads : {2, 4, 6}) {
    for (std::int64_t kv = 1; kv < heads; ++kv) {
      if (heads % kv != 0) continue;
      const Matrix input = random_integers(engine, 3, 4);
      const std::vector<Matrix> wq = weights(engine, heads), wk = weights(engine, kv),
                                wv = weights(engine, kv);
      const auto grouped = layer(input, wq, wk, wv);
      const auto map = resolve_head_map({}, heads, kv);
      std::vector<Matrix> wide_k, wide_v;
      for (const std::int64_t g : map) {
        wide_k.push_back(wk[static_cast<std::size_t>(g)]);
        wide_v.push_back(wv[static_cast<std::size_t>(g)]);
      }
      ++all;
      equal += layer(input, wq, wide_k, wide_v) == grouped ? 1 : 0;
      different += layer(input, wq, weights(engine, heads), weights(engine, heads)) != grouped;
    }
  }
  argument.require(all == 6 && equal == all,
                   "{} of {} layers with expanded weights equal the grouped "
                   "one",
                   equal, all);
  argument.require(different == all, "{} of {} layers with independent weights differ from it",
                   different, all);
  return ClaimVerdict::checked;
}

}  // namespace

const Claim claim_ee{.id = "ee",
                     .title = "expanded-weights",
                     .statement =
                         "MHA with deliberately expanded shared weights equals GQA; independent "
                         "initialisation does not",
                     .scope = "Hq = 2, 4, 6, every divisor Hkv < Hq, exact integer projections",
                     .certificate =
                         "X [W_g ... W_g] = [X W_g ... X W_g]: exact outputs of both layers, and "
                         "of independent weights",
                     .argue = argue_ee};

}  // namespace gqa
