// The equations that say how often some wrong rows have counted their keys.
#pragma once

#include <optional>
#include <vector>

#include "gqa/diagnose/local/local_evidence.hpp"

namespace gqa {

/// One wrong row as declared, beside what was recorded.
struct ShareRow {
  RowPlace place;
  std::vector<std::size_t> keys;      ///< visible
  std::vector<double> weights;        ///< of those
  std::vector<const double*> values;  ///< of those, rows in memory
  std::vector<double> recorded;       ///< o'
  std::vector<double> left;           ///< o - o'
};

/// Some witnesses as rows of equations; those with something not finite, or with values that do not
/// lie in one piece, are left out.
std::vector<ShareRow> share_rows(const LocalEvidence& evidence, std::size_t count);

/// D of the keys [first, last]: sum of w_j (v_j - o'), added to `to` [dv].
void add_block(const ShareRow& row, std::int64_t first, std::int64_t last, double* to);

/// What an aligned block of keys explains alone.
struct BlockScore {
  IndexRange keys;
  double explained = 0;  ///< of the sum of squares of the left sides, 0 to 1
};
/// What aligned blocks of 1, 2, 4, ... keys explain, each alone.
class BlockScores {
 public:
  BlockScores(const std::vector<ShareRow>& rows, std::int64_t keys);

  /// The `count` best in falling order, none inside another; of one size, or of all (0).
  std::vector<BlockScore> best(std::size_t count, std::int64_t size = 0) const;
  /// The smallest block that explains nearly as much as any of at most a quarter of the keys. (All
  /// keys together explain everything: without them nothing is left to be normalised.)
  std::optional<BlockScore> smallest_good() const;

 private:
  struct Sums {
    std::vector<double> products;  // of D and the left side, block by block
    std::vector<double> squares;   // of D
  };
  // Sums of every level of aligned blocks.
  struct LevelSums {
    std::vector<Sums> levels;
    double left_squares = 0;
  };
  static LevelSums empty_sums(std::size_t keys);
  static void add_row(const ShareRow& row, std::size_t keys, LevelSums& sums);

  std::int64_t keys_;
  LevelSums sums_;
};

}  // namespace gqa
