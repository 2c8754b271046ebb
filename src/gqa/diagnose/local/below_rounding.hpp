// What all errors together say where no single one is beyond its rounding.
#pragma once

#include <string>
#include <vector>

#include "gqa/diagnose/explain/row_match.hpp"

namespace gqa {

/// How far the recorded errors go along with the change that a fault would make.
struct ErrorFit {
  double beta = 0;            ///< 1: the errors are that change, 0: they have nothing to do with it
  double standard_error = 0;  ///< from the residuals
};

/// Key faults at an end of the visible range, of which the errors are made up: "the errors look
/// like a missing newest key: beta = 1.00 +- 0.02". They change no verdict.
///
/// With e = recorded - o and d the change by one key too few or too many at an end, both divided by
/// the size of their row's output, beta = sum e d / sum d^2 over the elements of some rows.
/// Rounding is independent of the value of one key, so that beta of a healthy kernel is near zero;
/// that of one with the fault is one, even where d is a third of half an ulp of the output. Told
/// only where beta is within a tenth of one and known to a tenth. Not asked of sinks: weights that
/// are truncated take from every weight what a sink would take.
std::vector<std::string> findings_below_rounding(const DiagnosisCase& problem);

}  // namespace gqa
