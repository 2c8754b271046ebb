#include "gqa/audit/gradients/gradient_factor_block.hpp"

#include <algorithm>
#include <cmath>

#include "gqa/audit/filter/blas.hpp"
#include "gqa/num/arithmetic.hpp"

namespace gqa {

GradientFactorBlock::GradientFactorBlock(const GradientFactorCounts& counts, std::size_t width,
                                         std::size_t stride)
    : counts_(counts),
      width_(width),
      stride_(stride),
      factors_((counts.squares + counts.plain + counts.magnitudes) * side * side),
      sums_((counts.squares + counts.plain + counts.magnitudes) * side * stride),
      operand_(side * stride),
      products_(side * stride) {}

void GradientFactorBlock::clear() {
  std::ranges::fill(sums_, 0.0);
}

void GradientFactorBlock::clear_factors() {
  std::ranges::fill(factors_, 0.0);
}

void GradientFactorBlock::set(std::size_t r, std::size_t j,
                              const GradientFactors<double>& factors) {
  for_each([&](std::size_t slot, Power power, std::size_t i) {
    factors_[(slot * side + r) * side + j] = member(factors, power, i);
  });
}

void GradientFactorBlock::add(std::size_t rows, std::size_t keys,
                              const std::vector<double>& operand, bool over_keys) {
  const std::size_t count = (over_keys ? keys : rows) * stride_;
  const std::size_t results = (over_keys ? rows : keys) * stride_;
  std::copy_n(operand.begin(), count, operand_.begin());
  Power last = Power::plain;
  for_each([&](std::size_t slot, Power power, std::size_t) {
    for (std::size_t e = 0; power != last && e < count; ++e) {
      operand_[e] = power == Power::square ? square(operand[e]) : std::abs(operand[e]);
    }
    last = power;
    const double* factors = factors_.data() + slot * side * side;
    if (over_keys) {
      multiply(rows, width_, keys, {factors, side}, {operand_.data(), stride_},
               {products_.data(), stride_});
    } else {
      multiply_left_transposed(keys, width_, rows, {factors, side}, {operand_.data(), stride_},
                               {products_.data(), stride_});
    }
    double* sums = sums_.data() + slot * side * stride_;
    for (std::size_t e = 0; e < results; ++e) sums[e] += products_[e];
  });
}

GradientFactors<double> GradientFactorBlock::sums(std::size_t r, std::size_t c) const {
  GradientFactors<double> factors;
  for_each([&](std::size_t slot, Power power, std::size_t i) {
    member(factors, power, i) = sums_[(slot * side + r) * stride_ + c];
  });
  return factors;
}

}  // namespace gqa
