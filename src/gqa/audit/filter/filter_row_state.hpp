// The running softmax of one row: shift, denominator and what the bound must know of it.
#pragma once

#include <cstdint>
#include <limits>

#include "gqa/attention/visibility.hpp"
#include "gqa/audit/filter/filter_bound.hpp"
#include "gqa/audit/filter/filter_memory.hpp"
#include "gqa/audit/filter/filter_tile_result.hpp"
#include "gqa/audit/filter/score_tags.hpp"
#include "gqa/audit/filter/vector_exp.hpp"

namespace gqa {

/// Sums are relative to exp(shift); names as in filter_bound.hpp.
struct RowState {
  std::int64_t head = 0;
  std::int64_t row = 0;
  KeyRange range;     ///< keys that the mask is asked about
  bool open = false;  ///< something not finite was seen
  bool sink = false;  ///< the denominator holds exp(sink)
  double query_square_sum = 0;
  double query_fourth_sum = 0;

  double shift = -std::numeric_limits<double>::infinity();  ///< m; nothing seen so far
  double maximum = -std::numeric_limits<double>::infinity();
  double sum = 0;  ///< computed L
  double travel = 0;
  std::int64_t visible = 0;
  std::int64_t blocks = 0;
  std::int64_t rescales = 0;

  double reference = 0;   ///< of the moments
  WeightMoments moments;  ///< model terms only, as below
  ScoreTags tags;         ///< of scores
  ScoreTags raw_tags;     ///< of scores before the bias, where there is one

  /// Starts with a sink: the first term of the denominator, exp(0) = 1 under its own shift.
  void start_with_sink(double logit);

  /// Makes room for scores up to `largest` > -inf. Returns the factor that the caller must
  /// multiply its sums of w v with (its square: of w^2 v^2); `sum` and the moments are done.
  double raise_shift(double largest);
  /// Adds the sum of one block.
  void add(double block_sum) {
    sum += block_sum;
    ++blocks;
  }
  /// Joins a row that saw other keys. The caller multiplies its sums by `own`, and the
  /// other's by `others`, and adds.
  struct JoinFactors {
    double own;
    double others;
  };
  JoinFactors join(const RowState& other);

  RowHistory history(const FilterShape& shape, const Dimensions& dimensions,
                     double key_square_sum) const;
  RowStatistics statistics() const;

 private:
  double factor_to(double new_shift, double old_shift);
  void scale_sums(double factor);
};

}  // namespace gqa
