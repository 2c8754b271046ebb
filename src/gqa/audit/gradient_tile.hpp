// Rung 1 of the gradients, one tile: some rows of a group against all their keys.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gqa/audit/filter_memory.hpp"
#include "gqa/audit/filter_operands.hpp"
#include "gqa/audit/filter_plan.hpp"
#include "gqa/audit/gradient_bound.hpp"
#include "gqa/audit/gradient_filter.hpp"
#include "gqa/audit/gradient_sums.hpp"
#include "gqa/audit/gradient_worst.hpp"

namespace gqa {

/// One row of the group, as the filter left it.
struct GradientRow {
  bool open = false;    ///< nothing is certified
  bool silent = false;  ///< empty, or left out by the rule: no weights
  double lse = 0;
  double delta = 0;
  std::int64_t terms = 0;
  GradientRowBound bound;
  GradientRowWorst<double> worst;
  bool worst_open = false;
};

/// What all tiles of one history share. Keys are counted from facts.seen.begin.
struct GradientContext {
  const GradientProblem& gradient;
  const GradientFilterOptions& options;
  const FilterOptions& filter;
  const GradientFacts& facts;
  const ScoreConstants& constants;
  const FilterShape& shape;
  std::span<const GradientRow> rows;  ///< [member * T + i]
  std::span<const double> shares;     ///< of the seen keys, padded with zeros by a block
  double depth_of_keys = 0;           ///< gamma of sums over keys
  double depth_of_rows = 0;           ///< gamma of sums over rows

  /// Where a query head is in its group.
  std::size_t row(std::int64_t head, std::int64_t i) const;
};

/// Sums over the rows so far: what a chunk of tiles adds to the keys' gradients.
struct GradientKeyTotals {
  std::vector<double> key;    ///< seen keys x key_stride
  std::vector<double> value;  ///< seen keys x value_stride
  /// [seen keys, padded by a block] spreads and worst cases of both.
  std::vector<double> key_spread, value_spread, key_worst, value_worst;

  GradientKeyTotals(const FilterShape& shape, std::int64_t keys, bool with_worst);
  void add(const GradientKeyTotals& other);
};

/// The buffers of one thread.
struct GradientMemory {
  FilterMemory filter;
  std::vector<double> grad;            ///< rows x value_stride
  std::vector<double> derivatives;     ///< rows x keys
  std::vector<double> slope;           ///< keys: of one row
  std::vector<double> key_products;    ///< keys x key_stride
  std::vector<double> value_products;  ///< keys x value_stride
  std::vector<double> query_products;  ///< rows x key_stride

  explicit GradientMemory(const FilterShape& shape);
};

/// Adds one tile's rows: their own gradients into `query`, what they add to keys into `totals`.
void add_gradient_tile(const GradientContext& context, const TilePlan& plan, GradientMemory& memory,
                       GradientPart& query, GradientKeyTotals& totals);

}  // namespace gqa
