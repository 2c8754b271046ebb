// Rung 1 of the gradients, one tile: some rows of a group against all their keys.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gqa/audit/filter/filter_memory.hpp"
#include "gqa/audit/filter/filter_operands.hpp"
#include "gqa/audit/filter/filter_plan.hpp"
#include "gqa/audit/gradients/gradient_sums.hpp"
#include "gqa/audit/gradients/history_gradients.hpp"

namespace gqa {

/// Powers of two that bring a history's operands into binary32, where it takes variances from.
struct GradientUnits {
  double derivative = 1, query = 1, key = 1, grad = 1;
};

/// What all tiles of one history share. Keys are counted from facts.seen.begin.
struct GradientContext {
  const GradientProblem& gradient;
  const GradientFilterOptions& options;
  const FilterOptions& filter;
  const GradientFacts& facts;
  const ScoreConstants& constants;
  const FilterShape& shape;
  std::span<const GradientRow> rows;                   ///< [member * T + i]
  std::span<const GradientVarianceFactors> variances;  ///< of `rows`, with a model
  std::span<const double> delta_variances;             ///< of `rows`: eta^2, a part of it
  GradientUnits units;
  std::span<const double> shares;  ///< of the seen keys, padded with zeros by a block
  double depth_of_keys = 0;        ///< gamma of sums over keys
  double depth_of_rows = 0;        ///< gamma of sums over rows

  /// Where a query head is in its group.
  std::size_t row(std::int64_t head, std::int64_t i) const;
};

/// Sums over the rows so far: what a chunk of tiles adds to the keys' gradients.
struct GradientKeyTotals {
  std::vector<double> key;                             ///< seen keys x key_stride
  std::vector<double> value;                           ///< seen keys x value_stride
  std::vector<double> key_spread, value_spread;        ///< [seen keys, padded by a block]
  std::vector<double> key_variances, value_variances;  ///< as key and value, with a model

  GradientKeyTotals(const FilterShape& shape, std::int64_t keys, bool with_variances);
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

  std::vector<double> means;  ///< rows x key_stride: sum w k
  /// In binary32, with a model: factors of pairs, squares of operands, products.
  std::vector<float> weights, query_factors, key_factors, value_factors;
  std::vector<float> key_values, key_squares, query_squares, grad_squares;
  std::vector<float> products;

  GradientMemory(const FilterShape& shape, bool with_variances);
};

/// Adds one tile's rows: their own gradients into `query`, what they add to keys into `totals`.
void add_gradient_tile(const GradientContext& context, const TilePlan& plan, GradientMemory& memory,
                       GradientPart& query, GradientKeyTotals& totals);

}  // namespace gqa
