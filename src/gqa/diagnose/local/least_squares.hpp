// Small least squares with standard errors.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace gqa {

/// Sums of squares and products of some unknowns' columns and of the left side.
class NormalEquations {
 public:
  explicit NormalEquations(std::size_t unknowns)
      : unknowns_(unknowns), matrix_(unknowns * unknowns, 0), products_(unknowns, 0) {}

  /// One equation: sum of coefficients times unknowns = left.
  void add(const double* coefficients, double left);

  struct Solution {
    std::vector<double> values;
    std::vector<double> errors;   ///< standard errors; infinite where nothing determines a value
    double residual_squares = 0;  ///< what is left of left_squares
    double left_squares = 0;
  };
  /// nullopt: fewer equations than unknowns, or nothing finite.
  std::optional<Solution> solved() const;

 private:
  std::size_t unknowns_;
  std::size_t equations_ = 0;
  std::vector<double> matrix_;
  std::vector<double> products_;
  double left_squares_ = 0;
};

}  // namespace gqa
