#include "gqa/theory/certificate_rules/arithmetic.hpp"
#include "gqa/theory/certificate_rules/polynomial.hpp"
#include "gqa/theory/certificate_rules/rules.hpp"

namespace gqa::certificate_rules {
namespace {

struct Sides {
  RationalVector left;
  RationalVector right;
};

Sides mean_key_score_sum(CertificateFields& fields) {
  const RationalMatrix queries = fields.matrix("queries");
  const RationalMatrix keys = fields.matrix("keys");
  require(queries.size() == keys.size(), "there are not as many queries as keys");
  Rational left = 0;
  for (std::size_t i = 0; i < queries.size(); ++i) left += dot(queries[i], keys[i]);
  const RationalVector ones(queries.size(), 1);
  const Rational heads = static_cast<unsigned long>(queries.size());
  const Rational right = dot(combination(ones, queries), combination(ones, keys)) / heads;
  return {{left}, {right}};
}

// key_scale key, checked to be integers.
RationalMatrix exponents_of(const RationalMatrix& keys, std::size_t bases,
                            const Rational& key_scale) {
  RationalMatrix exponents = keys;
  for (RationalVector& row : exponents) {
    require(row.size() == bases, "there are not as many bases as key coordinates");
    for (Rational& exponent : row) {
      exponent *= key_scale;
      require(exponent.get_den() == 1, "an exponent is not an integer");
    }
  }
  return exponents;
}

// Strengths product(bases ^ exponents) times one common factor, which softmax attention does not
// see: with base c = p/q and exponents from l to u, that of exponent e is p^(e - l) q^(u - e), an
// integer. So sums of many need no common denominator.
RationalVector integer_strengths(const RationalVector& bases, const RationalMatrix& exponents) {
  RationalVector factors;
  for (const Rational& base : bases) {
    factors.emplace_back(base.get_num());
    factors.emplace_back(base.get_den());
  }
  RationalVector lowest = exponents[0], highest = exponents[0];
  for (const RationalVector& row : exponents) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (row[c] < lowest[c]) lowest[c] = row[c];
      if (row[c] > highest[c]) highest[c] = row[c];
    }
  }
  PowerRoom room;
  RationalVector strengths;
  for (const RationalVector& row : exponents) {
    RationalVector powers;
    for (std::size_t c = 0; c < row.size(); ++c) {
      powers.emplace_back(row[c] - lowest[c]);
      powers.emplace_back(highest[c] - row[c]);
    }
    strengths.push_back(product_of_powers(factors, powers, room));
  }
  return strengths;
}

// Softmax attention with strengths product(bases ^ (key_scale key)).
RationalVector attention(const RationalMatrix& keys, const RationalMatrix& values,
                         const RationalVector& bases, const Rational& key_scale) {
  const RationalVector strengths =
      integer_strengths(bases, exponents_of(keys, bases.size(), key_scale));
  RationalVector output = combination(strengths, values);
  const Rational sum = total(strengths);
  // Each quotient is brought to lowest terms, the dearest step.
  constexpr std::size_t most_bits = 4 * PowerRoom::product_bits;
  require(mpz_sizeinbase(sum.get_num_mpz_t(), 2) <= most_bits / output.size(),
          "a power is too large to be evaluated");
  for (Rational& x : output) x /= sum;
  return output;
}

Sides mean_pooled_output(CertificateFields& fields) {
  const RationalMatrices keys = fields.matrices("keys");
  const RationalMatrices values = fields.matrices("values");
  const std::int64_t head = fields.integer("head");
  const RationalVector bases = fields.vector("bases");
  const Rational key_scale = fields.number("key_scale");
  require(keys.size() == values.size(), "there are not as many keys as values");
  require(head >= 0 && head < static_cast<std::int64_t>(keys.size()), "there is no such head");
  require(all_positive(bases), "a base is not positive");
  const auto h = static_cast<std::size_t>(head);
  return {attention(keys[h], values[h], bases, key_scale),
          attention(mean(keys), mean(values), bases, key_scale)};
}

Sides output_as_values_times_matrix(CertificateFields& fields) {
  const RationalMatrix values = fields.matrix("values");
  const RationalMatrices patterns = fields.matrices("patterns");
  const RationalMatrices projections = fields.matrices("projections");
  const RationalVector rows = fields.vector("row_combination");
  require(patterns.size() == projections.size(), "there are not as many patterns as projections");
  for (const RationalMatrix& pattern : patterns) {
    for (const RationalVector& row : pattern) {
      for (const Rational& weight : row) require(weight >= 0, "a weight is negative");
      require(total(row) == 1, "the weights of a row do not sum to 1");
    }
  }
  require(is_zero(combination(rows, values)), "the combination of the values is not zero");
  RationalVector left(projections[0][0].size());
  for (std::size_t h = 0; h < patterns.size(); ++h) {
    const RationalVector part =
        combination(rows, product(product(patterns[h], values), projections[h]));
    for (std::size_t c = 0; c < left.size(); ++c) left[c] += part[c];
  }
  return {left, RationalVector(left.size())};
}

Sides mean_key_softens(CertificateFields& fields) {
  const RationalVector query = fields.vector("query");
  const RationalMatrix keys = fields.matrix("keys");
  const std::int64_t head = fields.integer("head");
  require(head >= 0 && head < static_cast<std::int64_t>(keys.size()), "there is no such head");
  const RationalVector& own = keys[static_cast<std::size_t>(head)];
  RationalVector pooled = combination(RationalVector(keys.size(), 1), keys);
  for (Rational& x : pooled) x /= static_cast<unsigned long>(keys.size());
  require(dot(pooled, pooled) < dot(own, own), "the mean key is no shorter than the head's");
  const Rational left = abs(dot(query, own)), right = abs(dot(query, pooled));
  require(left < right, "the score of the mean key is no larger");
  return {{left}, {right}};
}

Sides head_maps(CertificateFields& fields) {
  constexpr std::int64_t most = 4096;
  const std::int64_t query_heads = fields.integer("query_heads"), groups = fields.integer("groups");
  require(groups >= 1 && groups <= query_heads && query_heads <= most,
          "the numbers of heads are none");
  Sides sides;
  for (std::int64_t i = 0; i < query_heads; ++i) {
    sides.left.emplace_back(static_cast<long>(i * groups / query_heads));
    sides.right.emplace_back(static_cast<long>(i / (query_heads / groups)));
  }
  return sides;
}

// The outputs of a grouped layer, head by head.
RationalVector layer_output(CertificateFields fields, const RationalMatrix& input) {
  const RationalMatrices query = fields.matrices("query"), key = fields.matrices("key"),
                         value = fields.matrices("value");
  fields.require_all_read();
  require(key.size() == value.size() && query.size() % key.size() == 0,
          "the heads cannot be grouped evenly");
  RationalVector outputs;
  for (std::size_t h = 0; h < query.size(); ++h) {
    const std::size_t g = h / (query.size() / key.size());
    const RationalMatrix keys = product(input, key[g]), values = product(input, value[g]);
    for (const RationalVector& one : product(input, query[h])) {
      RationalMatrix scores;
      for (const RationalVector& k : keys) scores.push_back({dot(one, k)});
      const RationalVector output = attention(scores, values, {2}, 1);
      outputs.insert(outputs.end(), output.begin(), output.end());
    }
  }
  return outputs;
}

Sides layer_of_other_weights(CertificateFields& fields) {
  const RationalMatrix input = fields.matrix("input");
  return {layer_output(fields.object("weights"), input),
          layer_output(fields.object("other_weights"), input)};
}

Sides evaluate(const std::string& identity, CertificateFields& fields) {
  if (identity == "mean_key_score_sum") return mean_key_score_sum(fields);
  if (identity == "mean_pooled_output") return mean_pooled_output(fields);
  if (identity == "output_as_values_times_matrix") return output_as_values_times_matrix(fields);
  if (identity == "mean_key_softens") return mean_key_softens(fields);
  if (identity == "head_maps") return head_maps(fields);
  if (identity == "layer_of_other_weights") return layer_of_other_weights(fields);
  throw CertificateRejected("the identity is not known");
}

}  // namespace

std::string counterexample(CertificateFields& fields) {
  const std::string identity = fields.text("identity");
  const Sides sides = evaluate(identity, fields);
  require(fields.vector("left") == sides.left, "the left side is not as stated");
  require(fields.vector("right") == sides.right, "the right side is not as stated");
  require(sides.left != sides.right, "both sides are equal");
  return fmt::format("{} does not hold: {} against {}", identity, to_text(sides.left),
                     to_text(sides.right));
}

std::string polynomial_identity(CertificateFields& fields) {
  const std::string left = fields.text("left");
  const std::string right = fields.text("right");
  require(parse_polynomial(left) == parse_polynomial(right), "the sides are different polynomials");
  return fmt::format("for all numbers in the place of the variables: {} = {}", left, right);
}

}  // namespace gqa::certificate_rules
