// Square matrices of balls, and what a Cholesky factorisation in balls proves.
#pragma once

#if __has_include(<flint/arb_mat.h>)
#include <flint/arb_mat.h>
#else
#include <arb_mat.h>
#endif

#include <optional>

#include "gqa/attention/tensor.hpp"
#include "gqa/num/ball.hpp"

namespace gqa {

/// A square Arb matrix with its memory managed.
class BallMatrix {
 public:
  explicit BallMatrix(slong size) { arb_mat_init(matrix_, size, size); }
  /// From [1, 1, n, n].
  explicit BallMatrix(const Tensor<Ball>& from) : BallMatrix(from.extent(2)) {
    const auto rows = from.matrix(0, 0);
    for (std::size_t r = 0; r < rows.rows(); ++r) {
      for (std::size_t c = 0; c < rows.columns(); ++c) {
        arb_set(arb_mat_entry(matrix_, static_cast<slong>(r), static_cast<slong>(c)),
                rows(r, c).get());
      }
    }
  }
  BallMatrix(const BallMatrix&) = delete;
  BallMatrix& operator=(const BallMatrix&) = delete;
  ~BallMatrix() { arb_mat_clear(matrix_); }

  slong size() const { return arb_mat_nrows(matrix_); }
  arb_mat_struct* get() { return matrix_; }
  const arb_mat_struct* get() const { return matrix_; }
  Ball at(slong r, slong c) const {
    Ball entry;
    arb_set(entry.get(), arb_mat_entry(matrix_, r, c));
    return entry;
  }
  Ball trace() const {
    Ball sum;
    arb_mat_trace(sum.get(), matrix_, precision_bits());
    return sum;
  }
  /// Proved: every symmetric matrix enclosed has only positive eigenvalues; L with A = L L^T is
  /// put into `factor`. False proves nothing.
  bool cholesky(BallMatrix& factor) const {
    return arb_mat_cho(factor.get(), matrix_, precision_bits()) != 0;
  }

 private:
  arb_mat_t matrix_;
};

}  // namespace gqa
