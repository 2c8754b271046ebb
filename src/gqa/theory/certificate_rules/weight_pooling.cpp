#include "gqa/theory/certificate_rules/arithmetic.hpp"
#include "gqa/theory/certificate_rules/rules.hpp"

namespace gqa::certificate_rules {
namespace {

RationalVector difference(RationalVector a, const RationalVector& b) {
  require(a.size() == b.size(), "two vectors have different lengths");
  for (std::size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
  return a;
}

bool all_equal(const RationalMatrices& all) {
  for (const RationalMatrix& one : all) {
    if (one != all[0]) return false;
  }
  return true;
}

std::size_t head_of(CertificateFields& fields, const RationalMatrices& weights) {
  const std::int64_t head = fields.integer("head");
  require(head >= 0 && head < static_cast<std::int64_t>(weights.size()), "there is no such head");
  return static_cast<std::size_t>(head);
}

std::string loss_of_values(CertificateFields& fields) {
  const RationalMatrices values = fields.matrices("value_weights");
  const std::size_t head = head_of(fields, values);
  const RationalVector input = fields.vector("input");
  const RationalVector own = fields.vector("output");
  const RationalVector pooled = fields.vector("pooled_output");
  require(product(values[head], input) == own, "the output is not as stated");
  require(product(mean(values), input) == pooled, "the pooled output is not as stated");
  require(own != pooled, "both outputs are equal");
  return fmt::format("pooling these {} projections changes head {} on one position: {} becomes {}",
                     values.size(), head, to_text(own), to_text(pooled));
}

std::string loss_of_scores(CertificateFields& fields) {
  const RationalMatrices keys = fields.matrices("key_weights");
  const RationalMatrices values = fields.matrices("value_weights");
  const std::size_t head = head_of(fields, keys);
  const RationalVector earlier = fields.vector("earlier_input");
  const RationalVector input = fields.vector("input");
  const RationalVector query = fields.vector("query");
  const Rational own = fields.number("score_difference");
  const Rational pooled = fields.number("pooled_score_difference");
  require(keys.size() == values.size(), "there are not as many keys as values");
  require(all_equal(values), "the value projections are not equal");
  if (!fields.is_null("query_weight")) {
    require(product(fields.matrix("query_weight"), input) == query,
            "the query is not that of the input");
  }
  const RationalVector step = difference(earlier, input);
  require(!is_zero(product(values[head], step)), "both positions have one value");
  require(dot(query, product(keys[head], step)) == own, "the score difference is not as stated");
  require(dot(query, product(mean(keys), step)) == pooled,
          "the pooled score difference is not as stated");
  require(own != pooled, "both score differences are equal");
  return fmt::format(
      "pooling these {} projections changes head {} on two positions: their scores differ by {}, "
      "pooled by {}",
      keys.size(), head, gqa::to_text(own), gqa::to_text(pooled));
}

}  // namespace

std::string weight_pooling_loss(CertificateFields& fields) {
  const std::string loss = fields.text("loss");
  if (loss == "values_differ") return loss_of_values(fields);
  require(loss == "scores_differ", "the loss is not known");
  return loss_of_scores(fields);
}

std::string weight_pooling_lossless(CertificateFields& fields) {
  const RationalMatrices keys = fields.matrices("key_weights");
  const RationalMatrices values = fields.matrices("value_weights");
  require(keys.size() == values.size(), "there are not as many keys as values");
  require(keys[0][0].size() == values[0][0].size(), "keys and values have other inputs");
  require(all_equal(values), "the value projections are not equal");
  const bool by_query = !fields.is_null("query_weights");
  RationalMatrices queries;
  if (by_query) {
    queries = fields.matrices("query_weights");
    require(queries.size() == keys.size(), "there are not as many queries as keys");
    require(queries[0].size() == keys[0].size(), "queries and keys have other sizes");
  }
  bool no_values = true;
  for (const RationalVector& row : values[0]) no_values = no_values && is_zero(row);
  const RationalMatrix pooled = mean(keys);
  for (std::size_t h = 0; h < keys.size() && !no_values; ++h) {
    RationalMatrix change = keys[h];
    for (std::size_t r = 0; r < change.size(); ++r) change[r] = difference(change[r], pooled[r]);
    // The score of inputs x, y changes by x^T Wq^T (Wk - mean Wk) y.
    if (by_query) change = product(transposed(queries[h]), change);
    for (const RationalVector& row : change) require(is_zero(row), "a head's scores change");
  }
  return fmt::format("pooling these {} projections changes no output of any input", keys.size());
}

}  // namespace gqa::certificate_rules
