// Identities that hold of averaged keys and of summed outputs, and those that do not.
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
  // S = sum q_i, T = sum K_i, P = sum q_i K_i over n heads: one term times n^2, and their sum.
  argument.attach(claim_certificates::polynomial_identity("(n*q - S)*(n*k - T)",
                                                          "n*n*q*k - n*q*T - n*k*S + S*T"));
  argument.attach(
      claim_certificates::polynomial_identity("n*n*P - n*S*T - n*T*S + n*S*T", "n*(n*P - S*T)"));
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

namespace {

using namespace claim_instances;

// Column-major, as vec() is defined.
Row vec(const Matrix& m) {
  Row all;
  for (std::size_t c = 0; c < m[0].size(); ++c) {
    for (const Row& row : m) all.push_back(row[c]);
  }
  return all;
}

// W^T (x) P.
Matrix kronecker_of_transposed(const Matrix& w, const Matrix& p) {
  const std::size_t n = p.size();
  Matrix result(w[0].size() * n, Row(w.size() * n));
  for (std::size_t r = 0; r < result.size(); ++r) {
    for (std::size_t c = 0; c < result[r].size(); ++c) {
      result[r][c] = w[c / n][r / n] * p[r % n][c % n];
    }
  }
  return result;
}

bool vectorised_form_holds(std::mt19937_64& engine) {
  const std::size_t n = 3, value_size = 2, model_size = 4;
  const Matrix value = random_integers(engine, n, value_size);
  Matrix output(n, Row(model_size)), matrix(model_size * n, Row(value_size * n));
  for (int head = 0; head < 3; ++head) {
    const Matrix p = random_integers(engine, n, n);
    const Matrix w = random_integers(engine, value_size, model_size);
    output = sum(output, product(product(p, value), w));
    matrix = sum(matrix, kronecker_of_transposed(w, p));
  }
  const Row flat = vec(value), expected = vec(output);
  for (std::size_t r = 0; r < matrix.size(); ++r) {
    if (dot(matrix[r], flat) != expected[r]) return false;
  }
  return true;
}

ClaimVerdict argue_z(Argument& argument, const TrainedModel* /*model*/) {
  argument.say(
      "P_i is N x N and W_i is d_v x d_model: P_i W_i is defined only if N = d_v, and V "
      "(N x d_v) does not stand between them");
  const Matrix pattern{{fraction(1, 2), fraction(1, 2)}, {fraction(1, 3), fraction(2, 3)}};
  const Matrix value{{1, 0}, {0, 0}};
  const Matrix output = product(pattern, value);
  argument.require(output[1][0] == fraction(1, 3),
                   "N = d_v = 2, V = ((1,0),(0,0)), W = I: P V has the second row {}",
                   to_text(output[1]));
  argument.say("V M has a second row of zeros for every M: no effective matrix exists");
  argument.attach(claim_certificates::output_as_values_times_matrix(
      value, {pattern}, {{{1, 0}, {0, 1}}}, {0, 1}, output[1]));
  // Every term of an entry of P V W, as one of (W^T (x) P) vec(V).
  argument.attach(claim_certificates::polynomial_identity("(p*v)*w", "(w*p)*v"));
  std::mt19937_64 engine(1);
  bool equal = true;
  for (int k = 0; k < 20; ++k) equal = equal && vectorised_form_holds(engine);
  argument.require(equal,
                   "the correct form, vec(sum P_i V W_i) = (sum W_i^T (x) P_i) vec(V), holds "
                   "exactly for 20 random groups");
  return ClaimVerdict::refuted;
}

}  // namespace

const Claim claim_z{
    .id = "z",
    .title = "effective-matrix",
    .statement = "sum P_i V W_i is V times an effective matrix sum P_i W_i",
    .scope = "any sizes",
    .certificate =
        "ill-typed: N x N times d_v x d_model; where the sizes fit, P V is not V M for any M: "
        "counterexample",
    .argue = argue_z};

}  // namespace gqa
