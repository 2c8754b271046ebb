// Ranks of recorded heads: softmax with irrational weights, enclosed.
#include <algorithm>

#include "gqa/theory/certificate_rules/arithmetic.hpp"
#include "gqa/theory/certificate_rules/enclosure.hpp"
#include "gqa/theory/certificate_rules/rules.hpp"

namespace gqa::certificate_rules {
namespace {

using Row = std::vector<Enclosure>;
using Rows = std::vector<Row>;

Enclosure sum_of_products(const Row& a, const Row& b) {
  Enclosure sum;
  for (std::size_t i = 0; i < a.size(); ++i) sum = sum + a[i] * b[i];
  return sum;
}

Rows columns_of(const Rows& rows) {
  Rows result(rows[0].size(), Row(rows.size()));
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t c = 0; c < rows[r].size(); ++c) result[c][r] = rows[r][c];
  }
  return result;
}

Rows product_of(const Rows& left, const Rows& right) {
  const Rows columns = columns_of(right);
  Rows result;
  for (const Row& row : left) {
    result.emplace_back();
    for (const Row& column : columns) result.back().push_back(sum_of_products(row, column));
  }
  return result;
}

Enclosure trace(const Rows& square) {
  Enclosure sum;
  for (std::size_t i = 0; i < square.size(); ++i) sum = sum + square[i][i];
  return sum;
}

// The output of a query that sees the first keys.
Row attended(const RationalVector& query, const RationalMatrix& keys, const RationalMatrix& values,
             const Enclosure& scale, std::size_t visible) {
  Row scores;
  for (std::size_t j = 0; j < visible; ++j) {
    scores.push_back(scale * Enclosure(dot(query, keys[j])));
  }
  mpz_class largest = scores[0].floor();
  for (const Enclosure& score : scores) largest = std::max(largest, score.floor());
  const Enclosure shift{Rational(largest)};
  Enclosure total;
  Row sums(values[0].size());
  for (std::size_t j = 0; j < visible; ++j) {
    const Enclosure strength = Enclosure::exp(scores[j] - shift);
    total = total + strength;
    for (std::size_t c = 0; c < sums.size(); ++c) {
      sums[c] = sums[c] + strength * Enclosure(values[j][c]);
    }
  }
  for (Enclosure& sum : sums) sum = sum / total;
  return sums;
}

// The heads' outputs side by side, [T, G dv].
Rows stacked(const RationalMatrices& queries, const RationalMatrix& keys,
             const RationalMatrix& values, const Enclosure& scale) {
  require(keys.size() == values.size(), "there are not as many keys as values");
  require(queries[0].size() <= keys.size(), "there are more queries than keys");
  const std::size_t before = keys.size() - queries[0].size();
  Rows rows(queries[0].size());
  for (const RationalMatrix& head : queries) {
    for (std::size_t i = 0; i < head.size(); ++i) {
      const Row output = attended(head[i], keys, values, scale, before + i + 1);
      rows[i].insert(rows[i].end(), output.begin(), output.end());
    }
  }
  return rows;
}

// W_h W_h^T on the diagonal: with H the outputs and W the projections on the diagonal, C = H W has
// the eigenvalues of C C^T = H (W W^T) H^T.
Rows projection_products(const RationalMatrices& projections) {
  const std::size_t size = projections[0].size();
  Rows result(projections.size() * size, Row(projections.size() * size));
  for (std::size_t h = 0; h < projections.size(); ++h) {
    for (std::size_t a = 0; a < size; ++a) {
      for (std::size_t b = 0; b < size; ++b) {
        result[h * size + a][h * size + b] = Enclosure(dot(projections[h][a], projections[h][b]));
      }
    }
  }
  return result;
}

// |1 - inverse matrix| < 1 in the norm of row sums: the matrix is invertible.
void require_invertible(const Rows& matrix, const RationalMatrix& stated) {
  require(stated.size() == matrix.size() && stated[0].size() == matrix.size(),
          "the inverse has another size");
  Rows inverse;
  for (const RationalVector& row : stated) {
    inverse.emplace_back();
    for (const Rational& x : row) inverse.back().emplace_back(x);
  }
  const Rows near_one = product_of(inverse, matrix);
  for (std::size_t r = 0; r < near_one.size(); ++r) {
    Enclosure sum;
    for (std::size_t c = 0; c < near_one.size(); ++c) {
      const Enclosure one{Rational(r == c ? 1 : 0)};
      sum = sum + (one - near_one[r][c]).magnitude();
    }
    require(sum.is_below(Enclosure(Rational(1))), "the matrix is not shown to be invertible");
  }
}

// x^T (C C^T) x / x^T x, at most the largest eigenvalue.
Enclosure rayleigh_quotient(const Rows& outputs, const Rows& weights, const RationalVector& x) {
  require(x.size() == outputs.size(), "the vector does not fit the positions");
  Row combined(outputs[0].size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    for (std::size_t c = 0; c < combined.size(); ++c) {
      combined[c] = combined[c] + Enclosure(x[i]) * outputs[i][c];
    }
  }
  Enclosure sum;
  for (std::size_t c = 0; c < combined.size(); ++c) {
    sum = sum + combined[c] * sum_of_products(weights[c], combined);
  }
  return sum / Enclosure(dot(x, x));
}

}  // namespace

std::string enclosed_group_rank(CertificateFields& fields) {
  const RationalMatrices queries = fields.matrices("queries");
  const RationalMatrix keys = fields.matrix("keys"), values = fields.matrix("values");
  const RationalMatrices projections = fields.matrices("projections");
  require(projections.size() == queries.size(), "there are not as many projections as heads");
  require(projections[0].size() == values[0].size(), "projections do not fit the values");
  const Enclosure scale = Enclosure::root(fields.number("scale_squared"));
  const Rows outputs = stacked(queries, keys, values, scale);
  const Rows weights = projection_products(projections);
  const Rows columns = columns_of(outputs);
  Rows gram;
  for (const Row& a : columns) {
    gram.emplace_back();
    for (const Row& b : columns) gram.back().push_back(sum_of_products(a, b));
  }
  // The non-zero eigenvalues of C^T C; C has as many as this matrix has rows if it is invertible.
  Rows matrix = product_of(gram, weights);
  require_invertible(matrix, fields.matrix("inverse"));
  const Rational least_ratio = fields.number("least_participation");
  const Rational most_ratio = fields.number("most_participation");
  const Rational least_stable = fields.number("least_stable");
  const Rational most_stable = fields.number("most_stable");
  require(least_ratio > 0 && least_stable > 0 && most_stable > 0, "a bound is not positive");
  const Enclosure sum = trace(matrix);
  const std::size_t rank = matrix.size();
  matrix = product_of(matrix, matrix);
  const Enclosure ratio = sum * sum / trace(matrix);
  require(Enclosure(least_ratio).is_below(ratio) && ratio.is_below(Enclosure(most_ratio)),
          "the participation ratio is not shown to lie between the bounds");
  // The largest eigenvalue is at most t if the sum of 64th powers is below t^64.
  Rows scaled = product_of(gram, weights);
  const Enclosure bound = sum / Enclosure(least_stable);
  for (Row& row : scaled) {
    for (Enclosure& x : row) x = x / bound;
  }
  constexpr int squarings = 6;
  for (int k = 0; k < squarings; ++k) scaled = product_of(scaled, scaled);
  require(trace(scaled).is_below(Enclosure(Rational(1))),
          "the stable rank is not shown to lie above its bound");
  require((sum / Enclosure(most_stable))
              .is_below(rayleigh_quotient(outputs, weights, fields.vector("direction"))),
          "the stable rank is not shown to lie below its bound");
  return fmt::format(
      "the causal outputs of {} heads on one history of {} positions, projected, have rank {}, a "
      "participation ratio between {} and {} and a stable rank between {} and {}",
      queries.size(), keys.size(), rank, gqa::to_text(least_ratio), gqa::to_text(most_ratio),
      gqa::to_text(least_stable), gqa::to_text(most_stable));
}

}  // namespace gqa::certificate_rules
