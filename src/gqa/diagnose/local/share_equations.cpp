#include "gqa/diagnose/local/share_equations.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>

#include "gqa/num/arithmetic.hpp"

namespace gqa {

void BlockScores::add_row(const ShareRow& row, std::size_t keys, LevelSums& sums) {
  const std::size_t width = row.left.size();
  std::vector<double> blocks(keys * width, 0);
  for (std::size_t k = 0; k < row.keys.size(); ++k) {
    double* to = blocks.data() + row.keys[k] * width;
    for (std::size_t c = 0; c < width; ++c) {
      to[c] = row.weights[k] * (row.values[k][c] - row.recorded[c]);
    }
  }
  std::size_t count = keys;
  for (Sums& level : sums.levels) {
    for (std::size_t n = 0; n < count; ++n) {
      const double* block = blocks.data() + n * width;
      double product = 0, squares = 0;
      for (std::size_t c = 0; c < width; ++c) {
        product += block[c] * row.left[c];
        squares += block[c] * block[c];
      }
      level.products[n] += product;
      level.squares[n] += squares;
    }
    // Two neighbours become one block of the next level, in place.
    for (std::size_t n = 0; n < count; n += 2) {
      double* to = blocks.data() + n / 2 * width;
      const double* left = blocks.data() + n * width;
      for (std::size_t c = 0; c < width; ++c) {
        to[c] = left[c] + (n + 1 < count ? left[width + c] : 0);
      }
    }
    count = (count + 1) / 2;
  }
  for (const double x : row.left) sums.left_squares += square(x);
}

BlockScores::LevelSums BlockScores::empty_sums(std::size_t keys) {
  LevelSums sums;
  for (std::size_t count = keys; count > 0; count = (count + 1) / 2) {
    sums.levels.push_back({std::vector<double>(count, 0), std::vector<double>(count, 0)});
    if (count == 1) break;
  }
  return sums;
}

BlockScores::BlockScores(const std::vector<ShareRow>& rows, std::int64_t keys)
    : keys_(keys), sums_(empty_sums(extent(keys))) {
  std::vector<LevelSums> of_rows(rows.size());
  tbb::parallel_for(std::size_t{0}, rows.size(), [&](std::size_t r) {
    of_rows[r] = empty_sums(extent(keys));
    add_row(rows[r], extent(keys), of_rows[r]);
  });
  for (const LevelSums& own : of_rows) {
    sums_.left_squares += own.left_squares;
    for (std::size_t l = 0; l < sums_.levels.size(); ++l) {
      for (std::size_t n = 0; n < sums_.levels[l].products.size(); ++n) {
        sums_.levels[l].products[n] += own.levels[l].products[n];
        sums_.levels[l].squares[n] += own.levels[l].squares[n];
      }
    }
  }
}

std::vector<BlockScore> BlockScores::best(std::size_t count, std::int64_t size) const {
  std::vector<BlockScore> scores;
  for (std::size_t l = 0; l < sums_.levels.size(); ++l) {
    const std::int64_t own = std::int64_t{1} << l;
    if (size > 0 && own != size) continue;
    const Sums& level = sums_.levels[l];
    for (std::size_t n = 0; n < level.products.size(); ++n) {
      if (!(level.squares[n] > 0) || !(sums_.left_squares > 0)) continue;
      const std::int64_t first = static_cast<std::int64_t>(n) * own;
      scores.push_back({{first, std::min(first + own, keys_) - 1},
                        square(level.products[n]) / level.squares[n] / sums_.left_squares});
    }
  }
  std::ranges::sort(scores, [](const BlockScore& a, const BlockScore& b) {
    return std::pair{-a.explained, a.keys.first} < std::pair{-b.explained, b.keys.first};
  });
  std::vector<BlockScore> chosen;
  for (const BlockScore& score : scores) {
    const bool is_apart = std::ranges::none_of(chosen, [&](const BlockScore& other) {
      return score.keys.first <= other.keys.last && other.keys.first <= score.keys.last;
    });
    if (is_apart) chosen.push_back(score);
    if (chosen.size() == count) break;
  }
  return chosen;
}

std::optional<BlockScore> BlockScores::smallest_good() const {
  constexpr double nearly = 0.98;
  std::optional<BlockScore> good;
  double most = 0;
  for (std::int64_t size = 1; size <= std::max<std::int64_t>(keys_ / 4, 1); size *= 2) {
    for (const BlockScore& score : best(1, size)) most = std::max(most, score.explained);
  }
  for (std::int64_t size = 1; size <= std::max<std::int64_t>(keys_ / 4, 1) && !good; size *= 2) {
    for (const BlockScore& score : best(1, size)) {
      if (score.explained >= nearly * most) good = score;
    }
  }
  return good;
}

std::vector<ShareRow> share_rows(const LocalEvidence& evidence, std::size_t count) {
  std::vector<ShareRow> rows;
  const Behaviour& b = evidence.problem.declared;
  for (const RowPlace& place : spread_out(evidence.wrong.spread(count), count)) {
    const auto row = evaluate_row<double>(b, place.batch, place.head, place.row);
    if (row.anything || row.visible.empty()) continue;
    ShareRow entry{place, row.visible, row.weights, {}, {}, {}};
    bool usable = true;
    for (const std::size_t j : row.visible) {
      const OperandRow values =
          b.value_row(place.batch, b.value_head[extent(place.head)], static_cast<std::int64_t>(j));
      usable = usable && values.direct() != nullptr;
      entry.values.push_back(values.direct());
    }
    for (std::size_t c = 0; c < row.output.size(); ++c) {
      entry.recorded.push_back(recorded(b, place, static_cast<std::int64_t>(c)));
      entry.left.push_back(row.output[c] - entry.recorded.back());
      usable = usable && std::isfinite(entry.left.back());
    }
    if (usable) rows.push_back(std::move(entry));
  }
  return rows;
}

void add_block(const ShareRow& row, std::int64_t first, std::int64_t last, double* to) {
  auto k = static_cast<std::size_t>(std::ranges::lower_bound(row.keys, extent(first)) -
                                    row.keys.begin());
  for (; k < row.keys.size() && static_cast<std::int64_t>(row.keys[k]) <= last; ++k) {
    for (std::size_t c = 0; c < row.left.size(); ++c) {
      to[c] += row.weights[k] * (row.values[k][c] - row.recorded[c]);
    }
  }
}

}  // namespace gqa
