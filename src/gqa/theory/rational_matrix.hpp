// Exact matrices as rows, and Gaussian elimination over the rationals.
#pragma once

#include <cstddef>
#include <vector>

#include "gqa/num/rational.hpp"

namespace gqa {

using RationalVector = std::vector<Rational>;
using RationalMatrix = std::vector<RationalVector>;  ///< rows of one length
using RationalMatrices = std::vector<RationalMatrix>;

/// The reduced row echelon form of a matrix and how it came about.
struct RowReduction {
  RationalMatrix reduced;                  ///< transformation * matrix
  RationalMatrix transformation;           ///< invertible, [n, n]
  std::vector<std::size_t> pivot_columns;  ///< one for each non-zero row of `reduced`

  std::size_t rank() const { return pivot_columns.size(); }
};

/// Precondition: every row has `columns` entries.
RowReduction row_reduction(RationalMatrix matrix, std::size_t columns);

/// A basis of the vectors x with x * matrix = 0, in the smallest integers of their direction.
RationalMatrix left_null_vectors(const RowReduction& reduction);

/// G, of shape [columns, n], with matrix * G * matrix = matrix; matrix * G = 1 if the rows are
/// linearly independent.
RationalMatrix generalised_inverse(const RowReduction& reduction, std::size_t columns);

/// Every row with a 1 behind it.
RationalMatrix with_ones(RationalMatrix rows);

/// Precondition: the sizes fit.
Rational dot(const RationalVector& a, const RationalVector& b);
/// matrix vector. Precondition: the sizes fit.
RationalVector product(const RationalMatrix& matrix, const RationalVector& vector);

bool is_zero(const RationalVector& vector);

/// Are these `count` rows of `columns` entries, with at least one of each?
bool has_shape(const RationalMatrix& rows, std::size_t count, std::size_t columns);

}  // namespace gqa
