// Ranks of rational matrices, exactly.
#pragma once

#include <cstddef>

#include "gqa/attention/tensor.hpp"
#include "gqa/num/rational.hpp"

namespace gqa {

/// The rank over the rationals.
std::size_t rational_rank(MatrixView<const Rational> matrix);

/// matrix = left right, with as many columns and rows between them as its rank.
struct RankFactors {
  Tensor<Rational> left;   ///< [n, r]: independent columns of the matrix
  Tensor<Rational> right;  ///< [r, m]: its reduced row echelon form
  std::size_t rank() const { return static_cast<std::size_t>(right.extent(0)); }
};

RankFactors rank_factors(MatrixView<const Rational> matrix);

}  // namespace gqa
