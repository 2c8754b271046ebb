// What the filter is asked, and what it says of the rows of one tile.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "gqa/audit/work/row_selection.hpp"

namespace gqa {

struct FilterOptions {
  /// Rows of one tile: pairs of query head and query row that read one KV head.
  std::int64_t tile_rows = 256;
  /// Keys of one block. A multiple of vector_padding.
  std::int64_t key_block = 256;
  /// Keys of one task where a tile has few rows (decoding), so that long histories are
  /// shared between threads. The split never depends on the number of threads.
  std::int64_t key_segment = 4096;
  /// Also the sums that the precision models need: FilterTile::squares and RowStatistics.
  bool model_terms = false;
  /// With model_terms: also FilterRow::most_equal_scores, at about a third of the price.
  bool equal_scores = false;
  /// False: the plain reference, for comparison. No norms, no checks, no radius.
  bool radius = true;
  /// Threads to use; 0: as many as oneTBB finds.
  int threads = 0;
  /// Only these rows; nullopt: all. The tiles are then those of the chosen rows.
  std::optional<RowSample> sample = {};
  /// Only these of the filter_tile_count() tiles, for journals and ranks; nullopt: all.
  std::optional<std::vector<std::int64_t>> tiles = {};
};

/// What the precision models need of one row (docs/tolerance.md, "The two bounds"), in binary64
/// with a relative error of about 1e-9 unless said otherwise; not enclosures. The sink is not among
/// the keys.
struct RowStatistics {
  double score_mean = 0;             ///< sum w_j s_j / sum w_j
  double score_variance = 0;         ///< sum w_j (s_j - mean)^2 / sum w_j
  double square_weight = 0;          ///< sum w_j^2
  double square_score_mean = 0;      ///< sum w_j^2 s_j / sum w_j^2
  double square_score_variance = 0;  ///< sum w_j^2 (s_j - that mean)^2 / sum w_j^2
  double query_norm4_squared = 0;    ///< scale^2 |q|_4^2
  double score_minimum = -std::numeric_limits<double>::infinity();  ///< computed, of a visible key
};

/// One finished row of a tile.
struct FilterRow {
  std::int64_t head = 0;  ///< query head
  std::int64_t row = 0;   ///< query row
  bool open = false;      ///< nothing is certified: for the next rung
  bool empty = false;     ///< no visible key and no sink; the output is zero
  std::int64_t visible = 0;
  double epsilon = 0;    ///< bounds the relative error of sum exp(s) and, in the mean, weights
  double relative = 0;   ///< 2 epsilon / (1 - epsilon)
  double underflow = 0;  ///< absolute part of the radius
  double lse = -std::numeric_limits<double>::infinity();  ///< ln(sum exp(s) + exp(sink))
  double lse_radius = 0;  ///< |lse - exact| <= lse_radius unless open
  double maximum = -std::numeric_limits<double>::infinity();  ///< largest score or sink, computed
  double score_radius = 0;   ///< |s_j computed - s_j| of every key that matters
  RowStatistics statistics;  ///< with model_terms
  /// With equal_scores: no more scores of the row are equal, before or after a bias; 0: not known.
  std::int64_t most_equal_scores = 0;
};

/// One finished tile: some rows of the query heads that read one KV head of one batch
/// entry. Valid during the call that hands it over.
struct FilterTile {
  std::int64_t index = 0;  ///< of this tile, 0 <= index < filter_tile_count()
  std::int64_t batch = 0;
  std::int64_t kv_head = 0;
  std::span<const FilterRow> rows;
  std::int64_t columns = 0;                ///< dv
  std::size_t stride = 0;                  ///< between rows of output and squares
  const double* values = nullptr;          ///< rows x columns: the computed output
  std::span<const double> column_maximum;  ///< A_c >= |v_jc| of every visible key

  /// With model_terms: rows x columns of sum_j w_j^2 v_jc^2, with |computed - exact| <=
  /// squares_relative * computed + squares_absolute (not for open rows).
  const double* square_sums = nullptr;
  double squares_relative = 0;
  double squares_absolute = 0;
  /// With model_terms: bounds of |k_j|_4^2 over the keys of the tile.
  double key_norm4_squared_minimum = 0;
  double key_norm4_squared_maximum = 0;

  double output(std::size_t r, std::int64_t c) const {
    return values[r * stride + static_cast<std::size_t>(c)];
  }
  /// |output(r, c) - exact| <= radius(r, c), unless the row is open.
  double radius(std::size_t r, std::int64_t c) const {
    constexpr double unit_roundoff = 0x1p-53;
    const FilterRow& row = rows[r];
    const double bound = row.relative * column_maximum[static_cast<std::size_t>(c)] +
                         unit_roundoff * std::abs(output(r, c));
    // The safety factor covers the roundings of this line itself.
    return bound * (1 + 0x1p-40) + row.underflow;
  }
  double squares(std::size_t r, std::int64_t c) const {
    return square_sums[r * stride + static_cast<std::size_t>(c)];
  }
};

}  // namespace gqa
