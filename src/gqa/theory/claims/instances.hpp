// Small exact problems, written as rows of numbers, for the arguments of the claims.
#pragma once

#include <random>
#include <span>
#include <string>
#include <vector>

#include "gqa/attention/attention.hpp"
#include "gqa/theory/rational_matrix.hpp"

namespace gqa::claim_instances {

using Row = RationalVector;
using Matrix = RationalMatrix;

/// numerator / denominator. Precondition: the denominator is not zero.
Rational fraction(long numerator, long denominator);

/// [1, heads, rows, columns].
Tensor<Rational> to_tensor(const std::vector<Matrix>& heads);
Matrix to_matrix(MatrixView<const Rational> matrix);

/// Stipulated strengths [Hq][T][S] on values [Hkv][S][dv].
Problem<GmpNumbers> with_strengths(const std::vector<Matrix>& strengths,
                                   const std::vector<Matrix>& values);

/// Scaled queries [Hq][T][dk] as exponents: coordinate x stands for x ln(base).
Problem<GmpNumbers> with_queries(long base, const std::vector<Matrix>& queries,
                                 const std::vector<Matrix>& keys,
                                 const std::vector<Matrix>& values);

/// Row i of head h of the output or the weights, batch 0.
Row row_of(const Tensor<Rational>& tensor, std::int64_t head, std::size_t i = 0);

/// The outputs of all heads side by side, [T][Hq dv].
Matrix stacked_outputs(const Problem<GmpNumbers>& problem);

/// a b. Precondition: the shapes fit.
Matrix product(const Matrix& a, const Matrix& b);
Matrix sum(Matrix a, const Matrix& b);
std::size_t rank(const Matrix& matrix);

/// Random integers from -4 to 4, the same on every platform.
Matrix random_integers(std::mt19937_64& engine, std::size_t rows, std::size_t columns);

/// "(3, 1/2)".
std::string to_text(const Row& row);

}  // namespace gqa::claim_instances
