// What a slot of a history would have to hold for some wrong rows to be right.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include "gqa/diagnose/local/local_evidence.hpp"

namespace gqa {

/// One wrong row as declared.
struct SlotRow {
  RowPlace place;
  EvaluatedRow<double> declared;
  std::vector<double> recorded;
};

/// What a slot holds if it is the one that is wrong.
struct SlotFit {
  std::vector<double> value;                              ///< u
  std::vector<double> others;                             ///< a_i
  double left = std::numeric_limits<double>::infinity();  ///< of the sum of squares
};

/// A recorded slot, or one more than those recorded.
using Slot = std::optional<std::size_t>;

/// The rows as declared; none if one of them is not finite or has no number.
std::vector<SlotRow> evaluated_slot_rows(const Behaviour& behaviour,
                                         const std::vector<RowPlace>& places);

/// Least squares of row_i = a_i (output without the slot)_i + (1 - a_i) u over u and all a_i, in
/// turns. Nothing is left to tell where there are hardly more numbers than unknowns: `left` is
/// infinite then.
SlotFit fit_slot(const Behaviour& behaviour, const std::vector<SlotRow>& rows, const Slot& slot,
                 int rounds);

/// The shortest key with which row i gives the slot the weight 1 - a_i; empty if there is none.
std::vector<double> key_of_slot(const Behaviour& behaviour, const std::vector<SlotRow>& rows,
                                const SlotFit& fit, const Slot& slot);

}  // namespace gqa
