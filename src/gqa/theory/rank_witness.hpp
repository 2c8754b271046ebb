// Witnesses of ranks: integers for values, keys and strengths, drawn from a seed.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "gqa/attention/attention.hpp"
#include "gqa/theory/modular_matrix.hpp"
#include "gqa/theory/rank_configuration.hpp"

namespace gqa {

/// One group with definite operands, given by a configuration and a seed alone: the same on
/// every platform.
///
/// Patterns are softmax weights with rational strengths. Either every visible key has
/// strength 1 but one, chosen for every row of every head, of an integer strength of 2 to 9;
/// or, softmax-reachable, the strengths are exp(q . k) with shared keys of d_k small
/// integers (the digits of the position) and queries whose coordinates are logarithms of
/// integers from 2 to 997.
class RankWitness {
 public:
  RankWitness(const RankConfiguration& configuration, std::uint64_t seed);

  /// The whole witness as an exact problem [1, G, N, .], to be given to attention().
  Problem<GmpNumbers> problem() const;

  /// Values [N, columns] modulo the prime; the last of every d_v columns is constant if the
  /// configuration says so.
  const ModularMatrix& values() const { return values_; }

  /// The outputs of all heads side by side, [rows.size(), G columns()], at the rows listed;
  /// nullopt if the prime divides a row's sum of strengths.
  std::optional<ModularMatrix> stacked_outputs(const std::vector<std::size_t>& rows) const;

 private:
  /// What one row of one head draws.
  struct Row {
    std::size_t raised_key = 0;        ///< the key that is stronger than the others
    std::int64_t raised_strength = 2;  ///< its strength
    std::vector<std::int64_t> bases;   ///< exp of the query's coordinates, if reachable
  };
  const Row& row_of(std::size_t head, std::size_t row) const;
  std::optional<ModularMatrix> raised_outputs(std::size_t head,
                                              const std::vector<std::size_t>& rows) const;
  std::optional<ModularMatrix> reachable_outputs(std::size_t head,
                                                 const std::vector<std::size_t>& rows) const;
  std::vector<std::uint64_t> reachable_strengths(const Row& row) const;
  std::vector<std::int64_t> digits(std::size_t key) const;
  void draw_rows(std::mt19937_64& engine);

  RankConfiguration configuration_;
  std::size_t positions_;
  std::int64_t digit_base_ = 2;  // keys are positions written in this base
  Visibility visibility_;
  std::vector<Row> rows_;  // head by head; of one head if tied
  ModularMatrix values_;
};

/// The dictionary of `count` independent histories of `size` coordinates side by side,
/// [rows, count size]: random integers from -9 to 9; ones in the last column of each history
/// if `constant_column`.
ModularMatrix random_dictionary(std::size_t rows, std::int64_t count, std::int64_t size,
                                bool constant_column, std::mt19937_64& engine);

}  // namespace gqa
