// Blocks of pairs of rows and keys with all that bounds of gradients are made of, in binary64.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gqa/audit/filter/filter_bound.hpp"
#include "gqa/audit/filter/filter_memory.hpp"
#include "gqa/audit/filter/filter_operands.hpp"
#include "gqa/audit/gradients/gradient_filter.hpp"

namespace gqa {

/// Some rows of one history's group against blocks of its keys.
class GradientPairs {
 public:
  static constexpr std::size_t most_rows = 64;
  static constexpr std::size_t most_keys = 64;

  /// Keeps references. `found` holds the rows and facts of `gradient`.
  GradientPairs(const GradientProblem& gradient, const HistoryGradients& found,
                const GradientCopies& copies);

  /// Takes up rows of the group; at most most_rows. None is open or silent.
  void take_rows(std::span<const std::size_t> rows);
  /// And keys [begin, end), at most most_keys: scores and products with all rows.
  void take_keys(std::int64_t begin, std::int64_t end);

  std::span<const std::size_t> rows() const { return rows_; }
  std::size_t keys() const { return keys_; }
  /// Does the r-th of the rows see the j-th of the keys?
  bool sees(std::size_t r, std::size_t j) const { return score(r, j) > hidden(); }
  GradientPair<double> pair(std::size_t r, std::size_t j) const;
  /// |g| |v_j|.
  double norms(std::size_t r, std::size_t j) const;
  double value_norm(std::size_t j) const { return facts_.value_norms[begin_ + j]; }

  /// [rows, stride], [keys, stride]: operands as they are.
  const std::vector<double>& query() const { return query_; }
  const std::vector<double>& grad() const { return grad_; }
  const std::vector<double>& key() const { return memory_.key; }
  std::size_t key_stride() const { return shape_.key_stride; }
  std::size_t value_stride() const { return shape_.value_stride; }

  /// Of the keys that some of the rows may see; empty: none.
  KeyRange range() const { return range_; }

 private:
  static double hidden();
  double score(std::size_t r, std::size_t j) const { return scores_[r * shape_.keys + j]; }
  void finish_row(std::size_t r);

  const GradientProblem& gradient_;
  const AttentionProblem& problem_;
  const HistoryGradients& found_;
  const GradientFacts& facts_;
  const GradientCopies& copies_;
  ScoreConstants constants_;
  FilterOptions options_;
  FilterShape shape_;
  FilterMemory memory_;
  OperandNorms norms_;
  OperandReader reader_;
  std::vector<std::size_t> rows_;
  std::size_t begin_ = 0;
  std::size_t keys_ = 0;
  KeyRange range_{0, 0};
  std::vector<double> query_, grad_;                      // rows x stride
  std::vector<double> raw_, capped_, scores_, products_;  // rows x keys
};

}  // namespace gqa
