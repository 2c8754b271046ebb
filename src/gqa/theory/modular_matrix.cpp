#include "gqa/theory/modular_matrix.hpp"

#include <flint/ulong_extras.h>

#include <algorithm>
#include <utility>

namespace gqa {

ModularMatrix::ModularMatrix(std::size_t rows, std::size_t columns, std::uint64_t prime) {
  nmod_mat_init(matrix_, static_cast<slong>(rows), static_cast<slong>(columns), prime);
}

ModularMatrix::ModularMatrix(const ModularMatrix& other) {
  nmod_mat_init_set(matrix_, other.matrix_);
}

ModularMatrix::ModularMatrix(ModularMatrix&& other) noexcept : ModularMatrix(0, 0, other.prime()) {
  nmod_mat_swap(matrix_, other.matrix_);
}

ModularMatrix& ModularMatrix::operator=(ModularMatrix other) noexcept {
  nmod_mat_swap(matrix_, other.matrix_);
  return *this;
}

ModularMatrix::~ModularMatrix() {
  nmod_mat_clear(matrix_);
}

ModularMatrix ModularMatrix::operator*(const ModularMatrix& right) const {
  ModularMatrix product(rows(), right.columns(), prime());
  nmod_mat_mul(product.matrix_, matrix_, right.matrix_);
  return product;
}

ModularMatrix ModularMatrix::columns(const std::vector<std::size_t>& chosen) const {
  ModularMatrix result(rows(), chosen.size(), prime());
  for (std::size_t r = 0; r < rows(); ++r) {
    for (std::size_t c = 0; c < chosen.size(); ++c) result.row(r)[c] = row(r)[chosen[c]];
  }
  return result;
}

std::size_t ModularMatrix::rank() const {
  return static_cast<std::size_t>(nmod_mat_rank(matrix_));
}

std::vector<std::size_t> ModularMatrix::independent_columns() const {
  ModularMatrix echelon(*this);
  const auto rank = static_cast<std::size_t>(nmod_mat_rref(echelon.matrix_));
  std::vector<std::size_t> pivots;
  for (std::size_t r = 0; r < rank; ++r) {
    const auto row = std::as_const(echelon).row(r);
    pivots.push_back(static_cast<std::size_t>(
        std::ranges::find_if(row, [](std::uint64_t x) { return x != 0; }) - row.begin()));
  }
  return pivots;
}

ModularMatrix ModularMatrix::transposed() const {
  ModularMatrix result(columns(), rows(), prime());
  nmod_mat_transpose(result.matrix_, matrix_);
  return result;
}

std::uint64_t residue(std::int64_t value, std::uint64_t prime) {
  const auto modulus = static_cast<std::int64_t>(prime);
  const std::int64_t rest = value % modulus;
  return static_cast<std::uint64_t>(rest < 0 ? rest + modulus : rest);
}

std::optional<std::uint64_t> inverse_modulo(std::uint64_t value, std::uint64_t prime) {
  if (value % prime == 0) return std::nullopt;
  return n_invmod(value % prime, prime);
}

std::optional<std::uint64_t> residue(const Rational& value, std::uint64_t prime) {
  const auto inverse = inverse_modulo(mpz_fdiv_ui(value.get_den_mpz_t(), prime), prime);
  if (!inverse) return std::nullopt;
  const std::uint64_t numerator = mpz_fdiv_ui(value.get_num_mpz_t(), prime);
  return n_mulmod2(numerator, *inverse, prime);
}

std::optional<ModularMatrix> reduce(MatrixView<const Rational> matrix, std::uint64_t prime) {
  ModularMatrix result(matrix.rows(), matrix.columns(), prime);
  for (std::size_t r = 0; r < matrix.rows(); ++r) {
    for (std::size_t c = 0; c < matrix.columns(); ++c) {
      const auto entry = residue(matrix(r, c), prime);
      if (!entry) return std::nullopt;
      result.row(r)[c] = *entry;
    }
  }
  return result;
}

ModularMinor largest_minor(const ModularMatrix& matrix) {
  // A row basis against a column basis is never singular.
  ModularMinor minor{matrix.transposed().independent_columns(), matrix.independent_columns(), 0};
  nmod_mat_t square;
  const auto size = static_cast<slong>(minor.rows.size());
  nmod_mat_init(square, size, size, matrix.prime());
  for (std::size_t r = 0; r < minor.rows.size(); ++r) {
    for (std::size_t c = 0; c < minor.columns.size(); ++c) {
      nmod_mat_entry(square, static_cast<slong>(r), static_cast<slong>(c)) =
          matrix(minor.rows[r], minor.columns[c]);
    }
  }
  minor.determinant = nmod_mat_det(square);
  nmod_mat_clear(square);
  return minor;
}

}  // namespace gqa
