// Matrices over the integers modulo a prime: cheap lower bounds of rational ranks.
#pragma once

#include <flint/nmod_mat.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gqa/attention/tensor.hpp"
#include "gqa/num/rational.hpp"

namespace gqa {

/// 2^26 - 5: a prime small enough that dot products of thousands of terms fit one word.
inline constexpr std::uint64_t rank_prime = 67108859;

/// A dense matrix modulo a prime, its memory managed.
///
/// A minor that is not zero modulo a prime is not zero: the rank modulo a prime never
/// exceeds the rank over the rationals, as long as the prime divides no denominator.
class ModularMatrix {
 public:
  /// Zeros. `prime` must be a prime of at most 63 bits.
  ModularMatrix(std::size_t rows, std::size_t columns, std::uint64_t prime = rank_prime);
  ModularMatrix(const ModularMatrix& other);
  ModularMatrix(ModularMatrix&& other) noexcept;
  ModularMatrix& operator=(ModularMatrix other) noexcept;
  ~ModularMatrix();

  std::size_t rows() const { return static_cast<std::size_t>(matrix_->r); }
  std::size_t columns() const { return static_cast<std::size_t>(matrix_->c); }
  std::uint64_t prime() const { return matrix_->mod.n; }
  std::uint64_t operator()(std::size_t r, std::size_t c) const { return row(r)[c]; }
  /// The residues of a row, each below the prime, to be read and written.
  std::span<std::uint64_t> row(std::size_t r) { return {start(r), columns()}; }
  std::span<const std::uint64_t> row(std::size_t r) const { return {start(r), columns()}; }

  /// Precondition: columns() == right.rows(), same prime.
  ModularMatrix operator*(const ModularMatrix& right) const;
  /// The columns listed, in that order.
  ModularMatrix columns(const std::vector<std::size_t>& chosen) const;
  std::size_t rank() const;
  /// Columns of a largest set of independent ones, ascending.
  std::vector<std::size_t> independent_columns() const;
  ModularMatrix transposed() const;

 private:
  std::uint64_t* start(std::size_t r) const {
    return columns() == 0 ? nullptr : &nmod_mat_entry(matrix_, static_cast<slong>(r), 0);
  }
  nmod_mat_t matrix_;
};

/// The residue of an integer.
std::uint64_t residue(std::int64_t value, std::uint64_t prime);
/// The residue of a rational; nullopt if the prime divides its denominator.
std::optional<std::uint64_t> residue(const Rational& value, std::uint64_t prime);
/// 1 / value; nullopt for zero.
std::optional<std::uint64_t> inverse_modulo(std::uint64_t value, std::uint64_t prime);

/// The residues of a rational matrix; nullopt if the prime divides a denominator.
std::optional<ModularMatrix> reduce(MatrixView<const Rational> matrix,
                                    std::uint64_t prime = rank_prime);

/// A square submatrix that is not singular modulo its prime.
struct ModularMinor {
  std::vector<std::size_t> rows;
  std::vector<std::size_t> columns;
  std::uint64_t determinant = 0;  ///< not zero, unless there is no row
};

/// A largest minor that is not zero: its size is the rank.
ModularMinor largest_minor(const ModularMatrix& matrix);

}  // namespace gqa
