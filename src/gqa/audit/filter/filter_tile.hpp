// One tile of the filter: stacked query rows against the keys of one KV head.
#pragma once

#include <cstdint>
#include <vector>

#include "gqa/attention/attention_problem.hpp"
#include "gqa/audit/filter/filter_bound.hpp"
#include "gqa/audit/filter/filter_memory.hpp"
#include "gqa/audit/filter/filter_operands.hpp"
#include "gqa/audit/filter/filter_plan.hpp"
#include "gqa/audit/filter/filter_row_state.hpp"
#include "gqa/audit/filter/filter_tile_result.hpp"

namespace gqa {

/// What all tiles of a problem share.
struct FilterContext {
  const AttentionProblem& problem;
  const FilterOptions& options;
  ScoreConstants constants;
  FilterShape shape;
};

/// Running sums of a tile over blocks of keys: o = sum w v and its companions.
class TileAccumulator {
 public:
  /// `with_sink`: this accumulator's denominators hold the sinks (exactly one of those
  /// that are joined must).
  TileAccumulator(const FilterContext& context, const TilePlan& plan, bool with_sink);

  /// The keys that some row may see.
  KeyRange keys() const;
  /// Adds keys [begin, end), block by block.
  void add_keys(KeyRange keys, FilterMemory& memory);
  /// Joins the sums over other keys.
  void join(TileAccumulator& other);
  /// Divides, bounds, and hands over.
  void finish(const std::function<void(const FilterTile&)>& consume);

 private:
  void read_query(FilterMemory& memory);
  void add_block(std::int64_t begin, std::int64_t end, FilterMemory& memory);
  void open_rows_that_see(const std::vector<std::int64_t>& keys);
  double weigh_row(std::size_t r, std::int64_t begin, std::int64_t end, FilterMemory& memory);
  void apply_bias(RowState& row, KeyRange keys, double* scores, FilterMemory& memory);
  void add_square_products(std::size_t keys, const std::vector<double>& factors,
                           FilterMemory& memory);
  FilterRow finish_row(std::size_t r);
  std::int64_t most_equal_scores(const RowState& row, double score_radius);
  void certify(const RowState& row, FilterRow& result) const;
  double largest_value() const;

  const FilterContext& context_;
  const TilePlan& plan_;
  OperandReader reader_;
  OperandNorms norms_;
  std::vector<RowState> rows_;
  std::vector<double> sums_;  // rows x value_stride: sum w v
  bool tags_scores_;          // there is room for it
  std::vector<std::uint64_t> scratch_;
  std::vector<double> square_sums_;  // rows x value_stride: sum w^2 v^2, model terms only
};

}  // namespace gqa
