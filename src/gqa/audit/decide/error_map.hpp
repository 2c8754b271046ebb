// Where on an output the certified errors lie, and how they are spread, in bounded space.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gqa {

/// The largest certified ulp error of every cell of an output, and a histogram of all.
///
/// A cell is a block of query rows of one head of one batch entry; of more heads where there are
/// very many. Everything is a maximum or a sum of integers, so that maps of the same output may
/// be merged in any order.
struct ErrorMap {
  static constexpr std::int64_t most_cells = 8192;
  static constexpr std::int64_t most_blocks = 512;  ///< of rows
  /// Bucket 0: no error at all; bucket k: up to 2^(k - zero_bucket) ulp, more than half of that
  /// but for the first; the last one: beyond that.
  static constexpr std::size_t buckets = 64;
  static constexpr int zero_bucket = 31;
  static constexpr double not_measured = -1;

  std::int64_t heads = 0;           ///< B * Hq
  std::int64_t rows = 0;            ///< T
  std::int64_t heads_per_cell = 1;  ///< the last cell of an axis may hold fewer
  std::int64_t rows_per_cell = 1;
  std::vector<double> largest;           ///< upper end of the largest error, per cell, head first
  std::vector<std::int64_t> violations;  ///< per cell
  std::array<std::int64_t, buckets> histogram{};

  ErrorMap() = default;  ///< keeps nothing
  ErrorMap(std::int64_t batch_heads, std::int64_t query_rows);

  bool is_kept() const { return !largest.empty(); }
  std::int64_t head_cells() const { return cells(heads, heads_per_cell); }
  std::int64_t row_cells() const { return cells(rows, rows_per_cell); }
  std::size_t cell(std::int64_t batch_head, std::int64_t row) const {
    return static_cast<std::size_t>(batch_head / heads_per_cell * row_cells() +
                                    row / rows_per_cell);
  }
  /// Joins an element whose error is at most `ulp_error_upper`.
  void add_error(std::int64_t batch_head, std::int64_t row, double ulp_error_upper) {
    if (is_kept()) join(cell(batch_head, row), ulp_error_upper);
  }
  void add_violation(std::int64_t batch_head, std::int64_t row) {
    if (is_kept()) ++violations[cell(batch_head, row)];
  }
  /// Precondition: maps of the same axes, or both keep nothing.
  void merge(const ErrorMap& other);

  /// The bucket of an error >= 0.
  static std::size_t bucket_of(double ulp_error);
  /// The largest error of a bucket: 0, a power of two, infinity.
  static double bucket_end(std::size_t bucket);

 private:
  void join(std::size_t in_cell, double ulp_error_upper);
  static std::int64_t cells(std::int64_t extent, std::int64_t per_cell) {
    return (extent + per_cell - 1) / per_cell;
  }
};

}  // namespace gqa
