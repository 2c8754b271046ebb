#include "gqa/diagnose/local/least_squares.hpp"

#include <cmath>
#include <limits>

#include "gqa/num/arithmetic.hpp"

namespace gqa {

void NormalEquations::add(const double* coefficients, double left) {
  for (std::size_t i = 0; i < unknowns_; ++i) {
    const double factor = coefficients[i];
    if (factor == 0) continue;
    double* row = matrix_.data() + i * unknowns_;
    for (std::size_t j = 0; j <= i; ++j) row[j] += factor * coefficients[j];
    products_[i] += factor * left;
  }
  left_squares_ += square(left);
  ++equations_;
}

// Cholesky's L L^T = D A D with a unit diagonal, a little lifted, so that columns of any size are
// alike; a column that its predecessors determine gets an infinite error.
std::optional<NormalEquations::Solution> NormalEquations::solved() const {
  const std::size_t n = unknowns_;
  if (equations_ <= n || !std::isfinite(left_squares_)) return std::nullopt;
  constexpr double lift = 1e-13;
  std::vector<double> scale(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    const double own = matrix_[i * n + i];
    if (!std::isfinite(own)) return std::nullopt;
    scale[i] = own > 0 ? 1 / std::sqrt(own) : 0;
  }
  std::vector<double> lower(n * n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = i == j ? 1 + lift : scale[i] * scale[j] * matrix_[i * n + j];
      for (std::size_t k = 0; k < j; ++k) sum -= lower[i * n + k] * lower[j * n + k];
      lower[i * n + j] = i == j ? std::sqrt(std::max(sum, lift)) : sum / lower[j * n + j];
    }
  }
  // Rows of the inverse of L: A^-1 = D L^-T L^-1 D.
  std::vector<double> inverse(n * n, 0);
  for (std::size_t c = 0; c < n; ++c) {
    for (std::size_t i = c; i < n; ++i) {
      double sum = i == c ? 1 : 0;
      for (std::size_t k = c; k < i; ++k) sum -= lower[i * n + k] * inverse[k * n + c];
      inverse[i * n + c] = sum / lower[i * n + i];
    }
  }
  std::vector<double> half(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t c = 0; c <= i; ++c) half[i] += inverse[i * n + c] * scale[c] * products_[c];
  }
  Solution solution;
  solution.left_squares = solution.residual_squares = left_squares_;
  for (const double part : half) solution.residual_squares -= square(part);
  solution.residual_squares = std::max(solution.residual_squares, 0.0);
  const double variance = solution.residual_squares / static_cast<double>(equations_ - n);
  for (std::size_t c = 0; c < n; ++c) {
    double value = 0, squares = 0;
    for (std::size_t i = c; i < n; ++i) {
      value += inverse[i * n + c] * half[i];
      squares += square(inverse[i * n + c]);
    }
    solution.values.push_back(scale[c] * value);
    solution.errors.push_back(scale[c] > 0 ? scale[c] * std::sqrt(variance * squares)
                                           : std::numeric_limits<double>::infinity());
  }
  return solution;
}

}  // namespace gqa
