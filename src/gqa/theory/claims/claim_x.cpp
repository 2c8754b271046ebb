#include "gqa/theory/claims/certificates.hpp"
#include "gqa/theory/claims/claims.hpp"
#include "gqa/theory/claims/instances.hpp"

namespace gqa {
namespace {

using namespace claim_instances;

ClaimVerdict argue_x(Argument& argument, const TrainedModel* /*model*/) {
  const std::vector<Matrix> keys{{{1, -2}, {3, 0}, {1, -2}}};
  Row difference;
  for (std::size_t c = 0; c < 2; ++c) difference.push_back(keys[0][0][c] - keys[0][2][c]);
  argument.require(difference == Row{0, 0},
                   "k_1 - k_2 = {}: the coefficients of q in the difference "
                   "of the scores",
                   to_text(difference));
  std::mt19937_64 engine(1);
  int equal = 0;
  const int all = 50;
  for (int k = 0; k < all; ++k) {
    const std::vector<Matrix> queries{random_integers(engine, 1, 2), random_integers(engine, 1, 2)};
    const auto weights = attention(with_queries(3, queries, keys, {{{1}, {2}, {3}}})).weights;
    bool same = true;
    for (std::int64_t h = 0; h < 2; ++h) {
      const Row row = row_of(weights, h);
      same = same && row[0] == row[2];
    }
    equal += same ? 1 : 0;
  }
  argument.require(equal == all, "{} of {} pairs of queries weigh both positions alike", equal,
                   all);
  // In each coordinate, with k_1 = k_2 = k.
  argument.attach(claim_certificates::polynomial_identity("q*(k - k)", "0"));
  return ClaimVerdict::proved;
}

}  // namespace

const Claim claim_x{
    .id = "x",
    .title = "equal-keys",
    .statement =
        "Two positions with equal shared keys are indistinguishable to every query of the group",
    .scope = "every query; nothing that names the position (mask, bias, rotary) between them",
    .certificate = "q.k_1 - q.k_2 = q.(k_1 - k_2) = q.0 = 0 for every q",
    .argue = argue_x};

}  // namespace gqa
