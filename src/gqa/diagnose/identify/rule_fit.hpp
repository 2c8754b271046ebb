// Continuous rules (scale, softcap, sink) by least squares.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "gqa/diagnose/identify/rules.hpp"
#include "gqa/diagnose/measure/measured_number.hpp"

namespace gqa::identification {

/// Which numbers are free beside the scale, which always is.
struct FreeNumbers {
  bool softcap = false;
  bool sink = false;
};

/// A hypothesis with numbers that fit, and how well each is known (four standard errors).
struct FittedHypothesis {
  Hypothesis hypothesis;
  MeasuredNumber scale;
  std::optional<MeasuredNumber> curvature;  ///< 1 / softcap^2
  std::optional<MeasuredNumber> sink;       ///< exp of its logit
};

/// Fits the numbers from those of `start` on, the ranges as they are. A free softcap or sink that
/// `start` has not begins with hardly any effect.
///
/// Method: Levenberg and Marquardt's (D. Marquardt, "An algorithm for least-squares estimation of
/// nonlinear parameters", SIAM J. Appl. Math. 11(2), 1963) on the logarithms of scale and sink and
/// on the curvature, with derivatives from neighbouring points. Each row counts by its distance
/// over its own size.
FittedHypothesis fit_numbers(const Hypothesis& start, std::span<const SearchRow> rows,
                             const FreeNumbers& free);

}  // namespace gqa::identification
