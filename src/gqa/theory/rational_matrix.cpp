#include "gqa/theory/rational_matrix.hpp"

#include <algorithm>
#include <utility>

namespace gqa {
namespace {

void divide(RationalVector& row, const Rational& divisor) {
  for (Rational& x : row) x /= divisor;
}

void subtract(RationalVector& row, const Rational& factor, const RationalVector& other) {
  for (std::size_t c = 0; c < row.size(); ++c) row[c] -= factor * other[c];
}

// Multiplied to integers without a common factor.
void make_primitive(RationalVector& row) {
  mpz_class denominator = 1;
  for (const Rational& x : row) denominator = lcm(denominator, x.get_den());
  for (Rational& x : row) x *= denominator;
  mpz_class divisor = 0;
  for (const Rational& x : row) divisor = gcd(divisor, x.get_num());
  if (divisor > 1) divide(row, Rational(divisor));
}

}  // namespace

RowReduction row_reduction(RationalMatrix matrix, std::size_t columns) {
  const std::size_t rows = matrix.size();
  RowReduction result;
  result.transformation.assign(rows, RationalVector(rows));
  for (std::size_t r = 0; r < rows; ++r) result.transformation[r][r] = 1;
  RationalMatrix& t = result.transformation;
  for (std::size_t c = 0; c < columns && result.rank() < rows; ++c) {
    const std::size_t top = result.rank();
    std::size_t pivot = top;
    while (pivot < rows && matrix[pivot][c] == 0) ++pivot;
    if (pivot == rows) continue;
    std::swap(matrix[pivot], matrix[top]);
    std::swap(t[pivot], t[top]);
    const Rational value = matrix[top][c];
    divide(matrix[top], value);
    divide(t[top], value);
    for (std::size_t r = 0; r < rows; ++r) {
      if (r == top || matrix[r][c] == 0) continue;
      const Rational factor = matrix[r][c];
      subtract(matrix[r], factor, matrix[top]);
      subtract(t[r], factor, t[top]);
    }
    result.pivot_columns.push_back(c);
  }
  result.reduced = std::move(matrix);
  return result;
}

RationalMatrix left_null_vectors(const RowReduction& reduction) {
  RationalMatrix vectors(
      reduction.transformation.begin() + static_cast<std::ptrdiff_t>(reduction.rank()),
      reduction.transformation.end());
  for (RationalVector& vector : vectors) make_primitive(vector);
  return vectors;
}

RationalMatrix generalised_inverse(const RowReduction& reduction, std::size_t columns) {
  RationalMatrix inverse(columns, RationalVector(reduction.transformation.size()));
  for (std::size_t r = 0; r < reduction.rank(); ++r) {
    inverse[reduction.pivot_columns[r]] = reduction.transformation[r];
  }
  return inverse;
}

RationalMatrix with_ones(RationalMatrix rows) {
  for (RationalVector& row : rows) row.push_back(1);
  return rows;
}

Rational dot(const RationalVector& a, const RationalVector& b) {
  Rational sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

RationalVector product(const RationalMatrix& matrix, const RationalVector& vector) {
  RationalVector result;
  for (const RationalVector& row : matrix) result.push_back(dot(row, vector));
  return result;
}

bool is_zero(const RationalVector& vector) {
  return std::ranges::all_of(vector, [](const Rational& x) { return x == 0; });
}

bool has_shape(const RationalMatrix& rows, std::size_t count, std::size_t columns) {
  return count > 0 && columns > 0 && rows.size() == count &&
         std::ranges::all_of(
             rows, [columns](const RationalVector& row) { return row.size() == columns; });
}

}  // namespace gqa
