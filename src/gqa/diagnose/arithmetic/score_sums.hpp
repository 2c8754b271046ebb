// The products q.k: order and accumulator of the sums over dk, operands, stored scores.
#pragma once

#include <optional>
#include <vector>

#include "gqa/diagnose/arithmetic/accumulator.hpp"
#include "gqa/diagnose/arithmetic/entry.hpp"
#include "gqa/diagnose/arithmetic/experiments.hpp"
#include "gqa/diagnose/arithmetic/sum_order.hpp"

namespace gqa {

struct ScoreSums {
  std::vector<PathReading> paths;
  std::vector<SumOrder> orders;  ///< every one that fits
  std::optional<Accumulator> accumulator;
  std::optional<int> operand_precision;
  std::optional<int> stored_precision;  ///< 24: at least binary32's, or binary16's in binary16
  std::optional<bool> fused_products;   ///< in binary32 alone
  std::int64_t sibling = 1;             ///< the coordinate that coordinate 0 is added to first

  /// What operands are rounded to before they are multiplied; binary32 if that is not known.
  NarrowFormat operand_format(NarrowFormat type) const;
  NarrowFormat stored_format() const;
  /// order, accumulator, rounding, products, operands, stored scores
  std::vector<ArithmeticEntry> entries(NarrowFormat type) const;
};

/// Even keys score s0 and odd ones s1; with values 1 on one kind and on the other the outputs are
/// exp(s0) and exp(s1) over their sum, so that ln(o1 / o0) shows s1 - s0 and every query row is an
/// experiment. dk is a power of 16 wherever the kernel takes one: the scale 1/sqrt(dk) and its
/// square root are powers of two then, and do not round. 7 to 9 calls.
ScoreSums read_score_sums(Experiments& experiments);

}  // namespace gqa
