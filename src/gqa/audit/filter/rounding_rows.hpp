// Both bounds of a model for whole rows, from binary64: for elements that a tile's sums leave
// open.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "gqa/audit/filter/equal_sums.hpp"
#include "gqa/audit/filter/filter.hpp"
#include "gqa/audit/filter/filter_bound.hpp"
#include "gqa/audit/filter/filter_memory.hpp"
#include "gqa/audit/filter/filter_operands.hpp"
#include "gqa/audit/filter/likely_interval.hpp"

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
/// Where operands are rounded, u_x > 0, the error of u_q^2 raw_j^2 is taken relative to u_x^2 P_j,
/// P_j = scale^2 |q|_4^2 |k_j|_4^2, instead: with M_j = scale |q|_2 |k_j|_2 and raw_j off by e M_j
/// at most, e = gamma(dk + 1) + scale_error + u, raw_j^2 is off by less than 3 e M_j^2, and M_j^2
/// <= dk P_j. Where squares are subtracted the error is stated relative to what cancels. A norm
/// such as sqrt(sum a_j (v_j - o)^2) moves by at most R sqrt(sum a_j) where o is known within R.
/// The shares r_j = weak_share(w_j) change by at most 2 d_w where they are not 0 or 1, so that sums
/// of r w a are off by at most 3 d_w sum w |a|. lost_part and its kind change by at most five times
/// what their unit changes by, and by what a term below five units does. The worst case is
/// evaluated in balls, once what it takes from the row's keys (maxima, and sum w |v| per column) is
/// known with those errors.
///
/// What no product gives (what running sums lose key by key, the covariance of each query
/// coordinate with each value column, what keys add that round alike) is left out at first: then
/// the lower bounds hold, and of the upper ones those for which somebody else bounds what is lost.
/// refine() adds it.
class RoundingRows {
 public:
  /// So many rows at once, at most.
  static constexpr std::size_t most_rows = 32;

  /// Keeps references.
  RoundingRows(const AttentionProblem& problem, const LikelyContext& context);

  /// Takes up rows of a tile with model terms, none of which is open or without a key.
  void read(const FilterTile& tile, std::span<const std::size_t> rows);

  /// Reads the keys once more for those of the rows that were read. Where some of a row's keys may
  /// round alike, its upper bounds are then known for `columns[i]` of the i-th of these rows,
  /// ascending, or for all where that is empty.
  void refine(std::span<const std::size_t> rows,
              std::span<const std::vector<std::size_t>> columns = {});

  /// Lower and upper bound of likely for the k-th of the rows that were read, for an element
  /// whose reference is known within `radius`. `lost_values`: at least LikelyColumn's, for a row
  /// that was not refined.
  Interval likely(std::size_t k, std::int64_t column, double radius,
                  double lost_values = std::numeric_limits<double>::infinity()) const;
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
    double weak_weight = 0;      // sum r w
    double weak_first = 0;       // sum r w y
    double weak_second = 0;      // sum r w y^2
    double weak_score = 0;       // largest r |s_j|
    double weak_magnitude = 0;   // sum w |y| of keys with r > 0
    double lost_weights = 0;     // sum of lost_part(w, u_l)
    double bias = 0;             // largest |mask| + |slope distance|, of a key
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
    bool refined = false;
    bool may_repeat = false;     // some keys or values may round alike
    std::vector<double> scores;  // of keys_, for those
    std::optional<EqualSums> equal;
    Interval weak_mean;  // the mean of y under r w, and its error; infinite without such keys
    LikelyRow<double> least;
    LikelyRow<double> most;
    std::optional<WorstBound> worst;  // made when first needed
  };
  /// A factor of the sums per row and key, and its products with v and v^2 per column.
  enum Factor : std::size_t {
    ones,
    weights,
    square_weights,
    variances,
    weak,
    weak_scores,
    underflown
  };
  static constexpr std::size_t factors = 7;

  void measure_keys(std::size_t keys);
  void add_block(const OperandReader& reader, std::int64_t begin, std::int64_t end);
  void weigh_row(std::size_t r, std::int64_t begin, std::int64_t end);
  /// The row's scores of a block, hidden_score where it sees nothing.
  std::vector<double> score_row(const FilterRow& source, std::size_t r, KeyRange keys,
                                std::int64_t begin);
  void score_block(const OperandReader& reader, std::int64_t begin, std::int64_t end);
  void add_key(std::size_t r, std::size_t j, double raw, double score, double bias);
  double variance_of(const FilterRow& source, std::size_t j, double raw, double score,
                     double bias) const;
  void keep_scores(std::span<const std::size_t> rows, const OperandReader& reader);
  void find_equal(std::span<const std::size_t> rows,
                  std::span<const std::vector<std::size_t>> columns, const OperandReader& reader);
  void refine_row(std::size_t k, std::int64_t begin, std::int64_t end);
  void add_covariance(std::size_t k, std::span<const double> row_weights, std::size_t keys);
  void join_covariance(std::size_t k);
  bool rounds_operands() const { return context_.model.operand > 0; }
  /// Can what underflows be seen beside the other roundings? If not, no product is taken for it.
  bool underflow_counts() const;
  void add_products(std::size_t keys);
  void add_product(Factor f, std::size_t keys, const std::vector<double>& values,
                   std::vector<double>& to);
  WorstBound worst_of(const Row& row) const;
  void finish_row(Row& row) const;
  void bound_deviations(Row& row) const;
  void bound_weak_keys(Row& row) const;
  void bound_underflow(const Row& row, std::size_t at, LikelyColumn<double>& sums,
                       bool upper) const;
  void bound_weak_column(const Row& row, std::size_t at, LikelyColumn<double>& sums,
                         bool upper) const;
  void bound_refined(const Row& row, std::size_t at, double radius, LikelyColumn<double>& sums,
                     bool upper) const;
  void bound_equal(const Row& row, std::size_t at, double radius, LikelyColumn<double>& sums,
                   bool upper) const;
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
  double with_magnitudes(Factor f, std::size_t at) const {
    return magnitude_sums_[f * most_rows * shape_.value_stride + at];
  }
  double largest_value(std::size_t at) const {
    return tile_->column_maximum[at % shape_.value_stride];
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
  std::shared_ptr<const EqualHistory> equal_history_;  // for rows that may repeat
  std::vector<Row> rows_;
  std::vector<double> key_norm4_squared_;  // |k_j|_4^2 of the block
  std::vector<double> key_norm2_;          // |k_j|_2
  std::vector<double> square_values_;      // v^2 of the block
  std::vector<double> magnitudes_;         // |v|
  std::vector<double> factors_;            // factors x most_rows x keys of the block
  std::vector<double> value_sums_;         // factors x most_rows x value_stride
  std::vector<double> square_sums_;
  std::vector<double> magnitude_sums_;  // factors x most_rows x value_stride, with |v|
  KeyRange keys_;                       // that some row of the tile may see
  std::vector<double> lost_values_;     // most_rows x value_stride: sum of lost_part(w |v|, u_a A)
  // Models that round operands only:
  std::vector<double> weighted_values_;     // of a block and one row: w v
  std::vector<double> covariance_product_;  // dk x value_stride
  std::vector<double> covariances_;         // most_rows x dk x value_stride: sum w k v
  std::vector<double> mean_keys_;           // most_rows x dk: sum w k
  std::vector<double> query_covariances_;   // most_rows x value_stride
};

}  // namespace gqa
