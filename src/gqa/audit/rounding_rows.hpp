// Both bounds of a model for whole rows, from binary64: for elements that a tile's sums leave
// open.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "gqa/audit/filter.hpp"
#include "gqa/audit/filter_bound.hpp"
#include "gqa/audit/filter_memory.hpp"
#include "gqa/audit/filter_operands.hpp"
#include "gqa/audit/likely_interval.hpp"

namespace gqa {

/// Encloses RoundingBounds, likely most often within 10^-9 of itself.
///
/// The keys are read a second time, with the row's maximum and log-sum-exp known, and every
/// sum over keys that the bound needs is one matrix product through BLAS.
///
/// Errors of those sums. With D = score_radius of the row (filter_bound.hpp), which bounds the
/// error of a score in any order of summation, a weight exp(s_j - lse) is wrong by
///   d_w = 2 (D + lse_radius + 2^-40)
/// relative to itself (exp and its argument: |s_j - lse| <= 745 where exp is not zero); sums of
/// n terms of one sign lose e = (n + 64) 2^-52 more. sigma_j^2 is linear in squares of scores;
/// (s + D)^2 - s^2 <= D (s^2 + 1) + D^2, which the constant 4 u_e^2/3 within sigma_j^2 covers:
///   d_sigma = 4 D (1 + (u_s^2 dk + u_q^2) / u_e^2) + 2^-46.
/// Where squares are subtracted the error is stated relative to what cancels. A norm such as
/// sqrt(sum a_j (v_j - o)^2) moves by at most R sqrt(sum a_j) where o is known within R.
/// The worst case is evaluated in balls, once what it takes from the row's keys (maxima, and
/// sum w |v| per column) is known with those errors.
class RoundingRows {
 public:
  /// So many rows at once, at most.
  static constexpr std::size_t most_rows = 32;

  /// Keeps references.
  RoundingRows(const AttentionProblem& problem, const LikelyContext& context);

  /// Takes up rows of a tile with model terms, none of which is open or without a key.
  void read(const FilterTile& tile, std::span<const std::size_t> rows);

  /// Lower and upper bound of likely for the k-th of the rows that were read, for an element
  /// whose reference is known within `radius`.
  Interval likely(std::size_t k, std::int64_t column, double radius) const;
  /// The same of worst; nullopt if the worst case is certainly unbounded.
  std::optional<Interval> worst(std::size_t k, std::int64_t column, double radius);

 private:
  /// One row: what it is, what was summed over its keys, and the bounds made of that.
  struct Row {
    const FilterRow* source = nullptr;
    std::optional<double> sink;
    double weight = 0;           // sum w
    double square_weight = 0;    // sum w^2
    double first_moment = 0;     // sum w y, y = s - score_mean
    double second_moment = 0;    // sum w y^2
    double variance_weight = 0;  // sum w^2 sigma^2
    double query_norm2 = 0;      // |q|_2
    double key_norm2 = 0;        // largest |k_j|_2
    double raw = 0;              // largest |scale q.k_j|
    double score = 0;            // largest |s_j|, of a key
    double distance = 0;         // largest |s_j - max s|, of a key
    double sum_error = 0;        // e
    double weight_error = 0;     // d_w + e
    double square_error = 0;     // 2 d_w + e
    double variance_error = 0;   // 2 d_w + d_sigma + e
    bool usable = false;
    LikelyRow<double> least;
    LikelyRow<double> most;
    std::optional<WorstBound> worst;  // made when first needed
  };
  /// A factor of the sums per row and key, and its products with v and v^2 per column.
  enum Factor : std::size_t { ones, weights, square_weights, variances };
  static constexpr std::size_t factors = 4;

  void add_block(const OperandReader& reader, std::int64_t begin, std::int64_t end);
  void weigh_row(std::size_t r, std::int64_t begin, std::int64_t end);
  void add_key(std::size_t r, std::size_t j, double raw, double score);
  void add_products(std::size_t keys);
  void add_product(Factor f, std::size_t keys, const std::vector<double>& values,
                   std::vector<double>& to);
  WorstBound worst_of(const Row& row) const;
  void finish_row(Row& row) const;
  void bound_deviations(Row& row) const;
  LikelyColumn<double> column_bound(const Row& row, std::size_t at, const Interval& o,
                                    double radius, bool upper) const;

  double* factor_row(Factor f, std::size_t r) {
    return factors_.data() + (f * most_rows + r) * shape_.keys;
  }
  double with_values(Factor f, std::size_t at) const {
    return value_sums_[f * most_rows * shape_.value_stride + at];
  }
  double output(const Row& row, std::size_t column) const {
    return tile_->output(static_cast<std::size_t>(row.source - tile_->rows.data()),
                         static_cast<std::int64_t>(column));
  }
  double with_squares(Factor f, std::size_t at) const {
    return square_sums_[f * most_rows * shape_.value_stride + at];
  }

  const AttentionProblem& problem_;
  const LikelyContext& context_;
  ScoreConstants constants_;
  FilterOptions options_;
  FilterShape shape_;
  FilterMemory memory_;
  OperandNorms norms_;
  const FilterTile* tile_ = nullptr;
  std::vector<Row> rows_;
  std::vector<double> key_norm4_squared_;  // |k_j|_4^2 of the block
  std::vector<double> key_norm2_;          // |k_j|_2
  std::vector<double> square_values_;      // v^2 of the block
  std::vector<double> magnitudes_;         // |v|
  std::vector<double> factors_;            // factors x most_rows x keys of the block
  std::vector<double> value_sums_;         // factors x most_rows x value_stride
  std::vector<double> square_sums_;
  std::vector<double> magnitude_sums_;  // of the weights alone
};

}  // namespace gqa
