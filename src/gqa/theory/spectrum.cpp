#include "gqa/theory/ball_matrix.hpp"
#include "gqa/theory/trained_rank.hpp"

namespace gqa {
namespace {

// How often A is squared on the way to its leading eigenvector: A^(2^16).
constexpr int squarings = 16;

// Proved: all eigenvalues are above zero.
bool is_positive_definite(const BallMatrix& a) {
  BallMatrix factor(a.size());
  return a.cholesky(factor);
}

// A vector near the leading eigenvector, as exact numbers: a column of A^(2^squarings), of which
// the midpoints alone matter.
void leading_vector(arb_mat_t vector, const BallMatrix& a) {
  BallMatrix power(a.size());
  arb_mat_get_mid(power.get(), a.get());
  for (int k = 0; k < squarings; ++k) {
    arb_mat_sqr(power.get(), power.get(), precision_bits());
    arb_mat_get_mid(power.get(), power.get());
    const Ball trace = power.trace();
    arb_mat_scalar_div_arb(power.get(), power.get(), trace.get(), precision_bits());
    arb_mat_get_mid(power.get(), power.get());
  }
  // The column of the largest diagonal entry is not orthogonal to the eigenvector.
  slong best = 0;
  for (slong k = 1; k < a.size(); ++k) {
    if (arf_cmp(arb_midref(arb_mat_entry(power.get(), k, k)),
                arb_midref(arb_mat_entry(power.get(), best, best))) > 0) {
      best = k;
    }
  }
  for (slong k = 0; k < a.size(); ++k) {
    arb_set(arb_mat_entry(vector, k, 0), arb_mat_entry(power.get(), k, best));
  }
}

// x^T A x / x^T x.
Ball rayleigh_quotient(const BallMatrix& a) {
  arb_mat_t x, image;
  arb_mat_init(x, a.size(), 1);
  arb_mat_init(image, a.size(), 1);
  leading_vector(x, a);
  arb_mat_mul(image, a.get(), x, precision_bits());
  Ball numerator, denominator;
  for (slong k = 0; k < a.size(); ++k) {
    arb_addmul(numerator.get(), arb_mat_entry(x, k, 0), arb_mat_entry(image, k, 0),
               precision_bits());
    arb_addmul(denominator.get(), arb_mat_entry(x, k, 0), arb_mat_entry(x, k, 0), precision_bits());
  }
  arb_mat_clear(x);
  arb_mat_clear(image);
  return numerator / denominator;
}

// Encloses the largest eigenvalue; not finite if no bound close above it can be proved.
Ball largest_eigenvalue(const BallMatrix& a) {
  const Ball lower = rayleigh_quotient(a);
  const Ball upper = lower * (Ball(1) + Ball(power_of_two(-40)));
  BallMatrix difference(a.size());
  arb_mat_neg(difference.get(), a.get());
  for (slong k = 0; k < a.size(); ++k) {
    arb_ptr entry = arb_mat_entry(difference.get(), k, k);
    arb_add(entry, entry, upper.get(), precision_bits());
  }
  if (!is_positive_definite(difference)) return Ball(1) / Ball(0);
  return Ball::hull(lower, upper);
}

}  // namespace

Spectrum spectrum(const Tensor<Ball>& gram) {
  const BallMatrix a(gram);
  BallMatrix square(a.size());
  arb_mat_sqr(square.get(), a.get(), precision_bits());
  const Ball trace = a.trace();
  Spectrum result;
  result.positive_definite = is_positive_definite(a);
  result.participation_ratio = trace * trace / square.trace();
  result.stable_rank = trace / largest_eigenvalue(a);
  return result;
}

}  // namespace gqa
