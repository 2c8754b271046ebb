// Exact linear programming over the rationals.
#pragma once

#include <optional>

#include "gqa/theory/rational_matrix.hpp"

namespace gqa {

/// The outcome of: maximise objective.x subject to rows x = right, x >= 0.
struct SimplexResult {
  bool feasible = false;
  bool bounded = true;
  RationalVector solution;  ///< optimal x, if feasible and bounded
  Rational value;           ///< objective.solution
  /// One multiplier a row. Infeasible: multipliers.column <= 0 for every column of `rows`, and
  /// multipliers.right > 0. Optimal: multipliers.column >= its objective, and multipliers.right
  /// equals `value`.
  RationalVector multipliers;
};

/// The two-phase simplex method on a dense tableau, exact, with Bland's rule wherever the last
/// step did not improve, so that it ends. Meant for few rows (one for each coordinate).
/// Precondition: `rows` is not empty; every row is as long as `objective`.
SimplexResult maximise(const RationalMatrix& rows, const RationalVector& right,
                       const RationalVector& objective);

}  // namespace gqa
