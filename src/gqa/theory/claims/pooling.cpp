// Heads merged by averaging their keys and values.
#include "gqa/exact/pooling.hpp"

#include "gqa/theory/claims/certificates.hpp"
#include "gqa/theory/claims/claims.hpp"
#include "gqa/theory/claims/instances.hpp"
#include "gqa/theory/pooling_condition.hpp"
#include "gqa/theory/weight_pooling.hpp"

namespace gqa {
namespace {

using namespace claim_instances;
namespace certificates = claim_certificates;

ClaimVerdict argue_j(Argument& argument, const TrainedModel* /*model*/) {
  const std::vector<Matrix> values{{{2, 0}, {2, 0}}, {{0, 6}, {0, 6}}};
  const std::vector<Matrix> keys{{{0}, {0}}, {{0}, {0}}};
  const std::vector<Matrix> queries{{{0}}, {{0}}};
  const auto own = attention(with_queries(2, queries, keys, values)).output;
  Problem<GmpNumbers> pooled = with_queries(2, queries, keys, values);
  pooled.key = mean_pool_heads(pooled.key, 1);
  pooled.value = mean_pool_heads(pooled.value, 1);
  const auto shared = attention(pooled).output;
  const Row mean{1, 3};
  for (std::int64_t h = 0; h < 2; ++h) {
    const Row one = row_of(own, h);
    argument.require(row_of(shared, h) == mean && one == values[static_cast<std::size_t>(h)][0],
                     "head {}: {} becomes {}", h, to_text(one), to_text(row_of(shared, h)));
    argument.attach(certificates::mean_pooled_output(keys, values, h, {2}, one, mean));
  }
  return ClaimVerdict::proved;
}

}  // namespace

const Claim claim_j{
    .id = "j",
    .title = "pooling-loses",
    .statement =
        "Mean pooling of the histories (2,0), (2,0) and (0,6), (0,6) gives (1,3) for both heads: "
        "pooling loses",
    .scope = "these two histories, zero queries",
    .certificate = "exact attention before and after pooling, and the difference as a certificate",
    .argue = argue_j};

namespace {

using namespace claim_instances;

bool lossless(const std::vector<Matrix>& keys, const std::vector<Matrix>& values) {
  return !pooling_loss({keys, values}, PooledPositions::all);
}

// Projections of a checkpoint, averaged: with equal value projections and one key projection off
// by a row that no query reads, and by one that it does.
void argue_for_weights(Argument& argument) {
  const Matrix a{{1, 2}, {0, 1}}, off{{1, 2}, {5, 1}}, value{{1, 0}};
  const Matrix first{{1, 1}, {0, 0}}, second{{0, 0}, {1, 0}};
  const auto decide = [&](const std::vector<Matrix>& values, const std::vector<Matrix>& queries) {
    const auto loss = weight_pooling_loss({a, off}, values, queries);
    argument.attach(certificate_of(loss, {a, off}, values, queries));
    return loss;
  };
  argument.require(!decide({value, value}, {first, first}),
                   "projections: key projections that differ where no query looks, and equal value "
                   "projections, lose nothing for any input");
  argument.require(
      decide({value, value}, {first, second}) == WeightPoolingLoss::scores_differ &&
          decide({value, {{0, 1}}}, {first, first}) == WeightPoolingLoss::values_differ,
      "they lose where a query looks at the difference, or where value projections differ");
}

// Hq heads with the first of each group at 1, pooled to Hkv, zero queries.
bool loses_in_attention(std::int64_t heads, std::int64_t kv) {
  std::vector<Matrix> zeros(static_cast<std::size_t>(heads), {{0}}), values = zeros;
  for (std::int64_t g = 0; g < kv; ++g) values[static_cast<std::size_t>(g * (heads / kv))] = {{1}};
  Problem<GmpNumbers> problem = with_queries(2, zeros, zeros, values);
  const auto own = attention(problem).output;
  problem.key = mean_pool_heads(problem.key, kv);
  problem.value = mean_pool_heads(problem.value, kv);
  return attention(problem).output != own;
}

ClaimVerdict argue_ff(Argument& argument, const TrainedModel* /*model*/) {
  argument.say(
      "head and pooled output are equal if sum_j,l exp(q.(k_j + mean k_l)) (v_j - mean v_l) "
      "= 0; as a function of q this is a sum of exponentials with distinct exponents, which "
      "vanishes only if every coefficient does");
  int pairs = 0, lossy = 0;
  for (std::int64_t heads = 1; heads <= 12; ++heads) {
    for (std::int64_t kv = 1; kv <= heads; ++kv) {
      if (heads % kv != 0) continue;
      ++pairs;
      const std::int64_t group = heads / kv;
      // One position, one coordinate: all values zero but that of the first head.
      std::vector<Matrix> keys(static_cast<std::size_t>(group), {{0}}), values = keys;
      values[0] = {{1}};
      const Rational mean = fraction(1, static_cast<long>(group));
      const bool loses = lossless(keys, values) ? false : true;
      if (loses != loses_in_attention(heads, kv)) {
        argument.require(false, "Hq = {}, Hkv = {}: condition and exact attention agree", heads,
                         kv);
      }
      if (!loses) continue;
      ++lossy;
      if (kv > 1) continue;
      argument.attach(claim_certificates::pooling_loss(keys, values, 0, {0}, {Rational(1 - mean)}));
    }
  }
  argument.require(
      pairs == 35 && lossy == 23,
      "of {} pairs (Hq, Hkv), the {} with Hkv < Hq lose on "
      "one position, keys 0, values 1, 0, ..., 0: head 0 gives 1, the pool Hkv/Hq; exact "
      "attention agrees for every pair",
      pairs, lossy);
  argument.say(
      "no smaller integers lose: with all values zero every output is zero; with Hkv = Hq "
      "nothing is pooled");
  const std::vector<Matrix> keys{{{0}, {0}}, {{0}, {0}}};
  argument.require(lossless(keys, {{{2}, {4}}, {{3}, {3}}}),
                   "unequal heads can be lossless: equal "
                   "keys, values 2, 4 and 3, 3 have one mean");
  argument.require(!lossless(keys, {{{2}, {4}}, {{3}, {4}}}), "values 2, 4 and 3, 4 do not");
  argue_for_weights(argument);
  return ClaimVerdict::proved;
}

}  // namespace

const Claim claim_ff{.id = "ff",
                     .title = "lossless-pooling",
                     .statement =
                         "Mean pooling of K and V is lossless for every query exactly when, for "
                         "every head and every sum k_j + mean k_l, the differences v_j - mean v_l "
                         "of the pairs with that sum add up to zero",
                     .scope =
                         "the condition for all histories that every query sees whole; smallest "
                         "integer counterexamples for "
                         "every (Hq, Hkv) up to 12",
                     .certificate =
                         "exponentials of distinct sums are linearly independent functions of the "
                         "query; pooling_loss; of projections: weight_pooling_loss, "
                         "weight_pooling_lossless",
                     .argue = argue_ff};

}  // namespace gqa
