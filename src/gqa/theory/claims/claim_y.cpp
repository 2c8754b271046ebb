#include <utility>

#include "gqa/theory/claims/certificates.hpp"
#include "gqa/theory/claims/claims.hpp"
#include "gqa/theory/claims/instances.hpp"

namespace gqa {
namespace {

using namespace claim_instances;

Row mean_of(const Matrix& rows) {
  Row mean(rows[0].size());
  for (const Row& row : rows) {
    for (std::size_t c = 0; c < mean.size(); ++c) mean[c] += row[c];
  }
  for (Rational& x : mean) x /= static_cast<unsigned long>(rows.size());
  return mean;
}

std::pair<Rational, Rational> both_sides(const Matrix& queries, const Matrix& keys) {
  Rational left = 0;
  for (std::size_t i = 0; i < queries.size(); ++i) left += dot(queries[i], keys[i]);
  const Rational heads(static_cast<unsigned long>(queries.size()));
  return {left, Rational(heads * dot(mean_of(queries), mean_of(keys)))};
}

Rational covariance(const Matrix& queries, const Matrix& keys) {
  const Row mean_query = mean_of(queries), mean_key = mean_of(keys);
  Rational sum = 0;
  for (std::size_t i = 0; i < queries.size(); ++i) {
    for (std::size_t c = 0; c < mean_key.size(); ++c) {
      sum += (queries[i][c] - mean_query[c]) * (keys[i][c] - mean_key[c]);
    }
  }
  return sum;
}

ClaimVerdict argue_y(Argument& argument, const TrainedModel* /*model*/) {
  const Matrix queries{{1, 0}, {0, 0}}, keys{{1, 0}, {0, 0}};
  const auto [left, right] = both_sides(queries, keys);
  argument.require(left == 1 && right == fraction(1, 2), "sum q_i.K_i = {}, (sum q_i).mean K = {}",
                   gqa::to_text(left), gqa::to_text(right));
  argument.attach(claim_certificates::mean_key_score_sum(queries, keys, left, right));
  argument.say("the difference is sum (q_i - mean q).(K_i - mean K): expand the product");
  std::mt19937_64 engine(1);
  int equal = 0;
  const int all = 100;
  for (int k = 0; k < all; ++k) {
    const std::size_t heads = 1 + engine() % 5;
    const Matrix q = random_integers(engine, heads, 3), key = random_integers(engine, heads, 3);
    const auto [a, b] = both_sides(q, key);
    equal += a - b == covariance(q, key) ? 1 : 0;
  }
  argument.require(equal == all, "{} of {} random groups have exactly that difference", equal, all);
  const auto [a, b] = both_sides({{1, 0}, {0, 1}, {1, 1}}, {{2, 5}, {2, 5}, {2, 5}});
  argument.require(a == b, "without covariance (equal keys) both sides are equal: {}",
                   gqa::to_text(a));
  return ClaimVerdict::refuted;
}

}  // namespace

const Claim claim_y{
    .id = "y",
    .title = "averaged-keys",
    .statement =
        "Averaging the key matrices of a group preserves the sum of q_i.K_i as (sum q_i).mean K",
    .scope = "all queries and keys",
    .certificate = "q = (1,0), (0,0) and K = (1,0), (0,0): 1 against 1/2",
    .argue = argue_y};

}  // namespace gqa
