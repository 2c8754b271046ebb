#include "gqa/theory/claims/certificates.hpp"
#include "gqa/theory/claims/claims.hpp"
#include "gqa/theory/claims/rank_steps.hpp"

namespace gqa {
namespace {

using namespace claim_instances;

ClaimVerdict argue_w(Argument& argument, const TrainedModel* /*model*/) {
  // Each head asks with one unit vector in one of two rows; three keys of two coordinates.
  const Matrix keys{{1, 0}, {0, 1}, {1, 1}};
  Matrix along_heads;
  for (std::size_t h = 0; h < 4; ++h) {
    Matrix queries(3, Row(2));
    queries[h / 2][h % 2] = 1;
    Row scores;
    for (const Row& query : queries) {
      for (const Row& key : keys) scores.push_back(dot(query, key));
    }
    along_heads.push_back(scores);
  }
  for (const Row& row : along_heads) argument.say("scores of a head: {}", to_text(row));
  argument.require(rank(along_heads) == 4,
                   "h = 4 heads on g = 1 key matrix: rank {} along the head "
                   "axis, not 1",
                   rank(along_heads));
  argument.attach(claim_certificates::rank_lower_bound(along_heads));
  require_rank(argument, rank_group(4, 20, 3), "scores along the heads, shared keys", 4);
  argument.say(
      "what falls is the rank of the scores stacked over heads and queries against the "
      "keys: min(n, g d_k), not min(n, h d_k)");
  require_rank(argument, rank_group(4, 20, 3), "scores along the keys, shared", 3);
  require_rank(argument, rank_group(4, 20, 3), "scores along the keys, one history per head", 12);
  return ClaimVerdict::refuted;
}

}  // namespace

const Claim claim_w{
    .id = "w",
    .title = "head-axis-rank",
    .statement = "Sharing keys lowers the head-axis rank of the score tensor from h to g",
    .scope = "all queries and keys",
    .certificate =
        "four heads on one key matrix, whose scores have rank 4 along the head axis: a minor",
    .argue = argue_w};

}  // namespace gqa
