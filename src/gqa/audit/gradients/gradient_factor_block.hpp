// Factors of a block of pairs, and their products with the columns of an operand.
#pragma once

#include <cstddef>
#include <vector>

#include "gqa/audit/gradients/gradient_likely_sums.hpp"

namespace gqa {

/// Sums over blocks of at most side x side pairs of rows and keys.
class GradientFactorBlock {
 public:
  static constexpr std::size_t side = 64;

  /// Operands have `width` columns, rows `stride` apart.
  GradientFactorBlock(const GradientFactorCounts& counts, std::size_t width, std::size_t stride);

  /// Forgets the sums.
  void clear();
  void clear_factors();
  void set(std::size_t r, std::size_t j, const GradientFactors<double>& factors);
  /// Adds the factors of the first `rows` and `keys` times the operand, which has a row for each
  /// key
  /// (`over_keys`: the sums are those of the rows) or for each row (those of the keys).
  void add(std::size_t rows, std::size_t keys, const std::vector<double>& operand, bool over_keys);
  GradientFactors<double> sums(std::size_t r, std::size_t c) const;

 private:
  enum class Power { plain, square, magnitude };

  template <class Use>
  void for_each(const Use& use) const {
    std::size_t slot = 0;
    for (std::size_t i = 0; i < counts_.plain; ++i) use(slot++, Power::plain, i);
    for (std::size_t i = 0; i < counts_.squares; ++i) use(slot++, Power::square, i);
    for (std::size_t i = 0; i < counts_.magnitudes; ++i) use(slot++, Power::magnitude, i);
  }
  static auto& member(auto& factors, Power power, std::size_t i) {
    if (power == Power::square) return factors.squares[i];
    return power == Power::plain ? factors.plain[i] : factors.magnitudes[i];
  }

  GradientFactorCounts counts_;
  std::size_t width_, stride_;
  std::vector<double> factors_, sums_, operand_, products_;
};

}  // namespace gqa
