// Rung 1 of audited gradients: binary64 through BLAS, with a radius for every element from an
// a-priori bound (derived in gradient_bound.hpp).
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gqa/audit/gradient_facts.hpp"
#include "gqa/audit/gradient_problem.hpp"
#include "gqa/audit/rounding_units.hpp"

namespace gqa {

struct GradientFilterOptions {
  std::int64_t tile_rows = 256;  ///< as FilterOptions
  std::int64_t key_block = 256;
  /// Also the worst case of this model; null: not.
  const PrecisionModel* model = nullptr;
  /// False: the plain gradients, for comparison. No facts, no sums, no radius.
  bool radius = true;
};

/// One gradient of one history, row by row.
struct GradientPart {
  std::size_t stride = 0;           ///< between rows of `values`
  std::vector<double> values;       ///< [rows, stride]
  std::vector<double> spread;       ///< [rows]
  std::vector<double> worst_moved;  ///< [rows], with a model
  std::vector<char> open;           ///< [rows]: nothing is certified
  std::vector<char> worst_open;     ///< [rows]: the worst case is not known here
  std::vector<char> unbounded;      ///< [rows]: the model bounds nothing
  std::vector<double> column;       ///< [width]: what spread and worst_moved are multiplied by
  double relative = 0;
  double tiny = 0;
  double worst_tiny = 0;

  double value(std::size_t r, std::size_t c) const { return values[r * stride + c]; }
  /// |value - exact| <= radius, unless the row is open.
  double radius(std::size_t r, std::size_t c) const {
    return (spread[r] * column[c] + relative * std::abs(value(r, c))) * (1 + 0x1p-30) + tiny;
  }
  /// How far a model moves the element before it is stored, within a factor 1 +- 2^-12.
  double worst(std::size_t r, std::size_t c) const {
    return worst_moved[r] * column[c] + worst_tiny;
  }
};

/// All gradients of one batch entry and KV head. Rows of `query` are (place in the group, query
/// row); those of `key` and `value` are all keys, past ones too.
struct HistoryGradients {
  GradientFacts facts;
  GradientPart query;
  GradientPart key;
  GradientPart value;
};

/// Result: for every row that is not open, radius() encloses the exact gradient under the
/// problem's rule. Bit for bit the same for every number of threads if the BLAS is deterministic.
/// Memory: that of the three gradients, at most nine times; nothing grows with T S.
/// Errors: those of filter_reference.
HistoryGradients gradient_reference(const GradientProblem& gradient, std::int64_t batch,
                                    std::int64_t kv_head, const GradientFilterOptions& options);

}  // namespace gqa
