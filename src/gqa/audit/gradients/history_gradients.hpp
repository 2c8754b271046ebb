// The gradients of one history with their radii.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "gqa/audit/gradients/gradient_bound.hpp"
#include "gqa/audit/gradients/gradient_facts.hpp"
#include "gqa/audit/gradients/gradient_likely.hpp"
#include "gqa/audit/gradients/gradient_problem.hpp"
#include "gqa/audit/models/rounding_units.hpp"

namespace gqa {

struct GradientFilterOptions {
  std::int64_t tile_rows = 256;  ///< as FilterOptions
  std::int64_t key_block = 256;
  /// Also the variances of this model; null: not.
  const PrecisionModel* model = nullptr;
  /// False: the plain gradients, for comparison. No facts, no sums, no radius.
  bool radius = true;
};

/// One gradient of one history, row by row.
struct GradientPart {
  std::size_t stride = 0;      ///< between rows of `values`
  std::vector<double> values;  ///< [rows, stride]
  std::vector<double> spread;  ///< [rows]
  /// [rows, stride], with a model: a part of the variance of what its roundings do; lambda times
  /// its root is also within the worst case.
  std::vector<double> variances;
  std::vector<char> open;      ///< [rows]: nothing is certified
  std::vector<double> column;  ///< [width]: what spread is multiplied by
  double relative = 0;
  double tiny = 0;

  double value(std::size_t r, std::size_t c) const { return values[r * stride + c]; }
  /// |value - exact| <= radius, unless the row is open.
  double radius(std::size_t r, std::size_t c) const {
    return (spread[r] * column[c] + relative * std::abs(value(r, c))) * (1 + 0x1p-30) + tiny;
  }
  /// The smaller of the likely bound and the worst case is certainly not below that, apart from
  /// storing the result.
  double surely_moved(std::size_t r, std::size_t c, double lambda) const {
    const double variance = variances[r * stride + c];
    // 10^-3 covers binary32.
    return variance < std::numeric_limits<double>::infinity()
               ? lambda * std::sqrt(variance) * (1 - 1e-3)
               : 0;
  }
};

/// One row of the group, as the forward pass left it.
struct GradientRow {
  bool open = false;    ///< nothing is certified
  bool silent = false;  ///< empty, or left out by the rule: no weights
  double lse = 0;
  double delta = 0;        ///< grad_output . output
  double subtracted = 0;   ///< delta - grad_lse: what every g.v_j is compared with
  double maximum = 0;      ///< largest score
  std::int64_t terms = 0;  ///< visible keys, and the sink
  GradientRowBound bound;
  GradientOutputSums<double> output;
};

/// All gradients of one batch entry and KV head. Rows of `query` are (place in the group, query
/// row); those of `key` and `value` are all keys, past ones too.
struct HistoryGradients {
  GradientFacts facts;
  std::vector<GradientRow> rows;  ///< of `query`
  GradientPart query;
  GradientPart key;
  GradientPart value;
};

}  // namespace gqa
