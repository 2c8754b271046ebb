// The unit roundoffs that make up a precision model.
#pragma once

#include <string_view>

#include "gqa/num/float_format.hpp"

namespace gqa {

/// How an implementation rounds: the unit roundoff of each of its steps, and how far
/// underflow can move a result of it. THEORY 3; the presets are in precision_presets.cpp.
///
/// Operands are exact. A step rounds to nearest in a format with that unit roundoff and may
/// be more accurate. The output is also rounded to the format in which it is recorded.
struct PrecisionModel {
  std::string_view name;
  double score;         ///< u_s: accumulation of query . key, and scaling
  double stored_score;  ///< u_q: scores stored between steps; 0: not stored
  double exponential;   ///< u_e: exp (within 4 u_e) and its argument; softcap and bias
  double denominator;   ///< u_l: the sum of the weights' numerators
  double weight;        ///< u_p: the weights before the second product, normalised or not
  double accumulation;  ///< u_a: the second product
  double output;        ///< u_o: the output
  /// Largest absolute error of rounding a tiny number: weights and output; all other steps.
  double storage_underflow;
  double inner_underflow;
  double lambda = 6;  ///< standard deviations that count as likely

  /// Unit roundoff and underflow of an output that is recorded in `format`.
  double output_roundoff(const FloatFormat& format) const;
  double output_underflow(const FloatFormat& format) const;
};

}  // namespace gqa
