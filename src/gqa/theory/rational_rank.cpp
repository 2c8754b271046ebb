#include "gqa/theory/rational_rank.hpp"

#include <flint/fmpq.h>
#include <flint/fmpq_mat.h>

#include <vector>

namespace gqa {
namespace {

// FLINT's matrix with its memory managed.
class FlintMatrix {
 public:
  explicit FlintMatrix(MatrixView<const Rational> from) {
    fmpq_mat_init(matrix_, static_cast<slong>(from.rows()), static_cast<slong>(from.columns()));
    for (std::size_t r = 0; r < from.rows(); ++r) {
      for (std::size_t c = 0; c < from.columns(); ++c) {
        fmpq_set_mpq(entry(r, c), from(r, c).get_mpq_t());
      }
    }
  }
  FlintMatrix(const FlintMatrix&) = delete;
  FlintMatrix& operator=(const FlintMatrix&) = delete;
  ~FlintMatrix() { fmpq_mat_clear(matrix_); }

  // To reduced row echelon form; returns the rank.
  std::size_t reduce() { return static_cast<std::size_t>(fmpq_mat_rref(matrix_, matrix_)); }

  Rational at(std::size_t r, std::size_t c) const {
    Rational value;
    fmpq_get_mpq(value.get_mpq_t(), entry(r, c));
    return value;
  }

 private:
  fmpq* entry(std::size_t r, std::size_t c) const {
    return fmpq_mat_entry(matrix_, static_cast<slong>(r), static_cast<slong>(c));
  }
  fmpq_mat_t matrix_;
};

}  // namespace

std::size_t rational_rank(MatrixView<const Rational> matrix) {
  return FlintMatrix(matrix).reduce();
}

RankFactors rank_factors(MatrixView<const Rational> matrix) {
  FlintMatrix echelon(matrix);
  const std::size_t rank = echelon.reduce();
  const auto extent = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  RankFactors factors{Tensor<Rational>({extent(matrix.rows()), extent(rank)}),
                      Tensor<Rational>({extent(rank), extent(matrix.columns())})};
  for (std::size_t k = 0; k < rank; ++k) {
    std::size_t pivot = matrix.columns();
    for (std::size_t c = matrix.columns(); c-- > 0;) {
      const Rational value = echelon.at(k, c);
      if (value != 0) pivot = c;
      factors.right.data()[k * matrix.columns() + c] = value;
    }
    for (std::size_t r = 0; r < matrix.rows(); ++r) {
      factors.left.data()[r * rank + k] = matrix(r, pivot);
    }
  }
  return factors;
}

}  // namespace gqa
