// Sums over the keys of one row from which every range of keys is read off.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "gqa/diagnose/identify/rules.hpp"

namespace gqa::identification {

/// Prefix sums of the weights of a row, and of those times the values of a few columns.
///
/// With w_j = exp(score_j) and prefix sums W and V of w_j and w_j v_j, a row that sees the keys
/// [a, b) is (V_b - V_a) / (W_b - W_a).
class RowSums {
 public:
  /// The scores under a rule, the row being at `position`. `free_sink`: the row may be smaller than
  /// that by any factor, as a sink makes it.
  RowSums(const SearchRow& row, const ScoreRule& score, std::int64_t position, bool free_sink);

  /// The squared distance of the recorded row from the one that sees `keys`, over its square; 1 at
  /// most.
  double misfit(const KeyRange& keys) const;

 private:
  static constexpr std::size_t scanned_columns = 8;

  bool free_sink_;
  std::size_t width_ = 0;
  std::array<double, scanned_columns> target_{};
  double square_ = 0;
  double sink_ = 0;
  std::vector<double> weights_;
  std::vector<double> values_;
};

}  // namespace gqa::identification
