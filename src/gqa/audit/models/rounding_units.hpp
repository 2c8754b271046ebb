// The unit roundoffs that make up a precision model.
#pragma once

#include <string_view>

#include "gqa/num/float_format.hpp"

namespace gqa {

/// How a recorded output was rounded: unit roundoff, and the largest error of a tiny number.
struct FormatRounding {
  double roundoff = 0;
  double underflow = 0;
};

/// How an implementation rounds: the unit roundoff of each of its steps, and how far
/// underflow can move a result of it. The presets are in precision_presets.cpp.
///
/// A step rounds to nearest in a format with that unit roundoff and may be more accurate; 0: the
/// step does not round. The output is also rounded to the format in which it is recorded.
struct PrecisionModel {
  std::string_view name;
  double score = 0;         ///< u_s: accumulation of query . key, and scaling
  double stored_score = 0;  ///< u_q: scores stored between steps, twice at most
  double exponential = 0;   ///< u_e: exp (within 4 u_e) and its argument; softcap and bias
  double denominator = 0;   ///< u_l: the sum of the weights' numerators
  double weight = 0;        ///< u_p: the weights before the second product, normalised or not
  double accumulation = 0;  ///< u_a: the second product
  double output = 0;        ///< u_o: the output
  double operand = 0;       ///< u_x: query and key before their product
  double value = 0;         ///< u_v: the values before the second product
  /// K: an accumulator takes so many products at once and rounds toward zero, as tensor cores do
  /// (Fasi, Higham, Mikaitis, Pranesh, "Numerical behavior of NVIDIA tensor cores", PeerJ Computer
  /// Science 7:e330, 2021, section 3); 0: it rounds to nearest.
  double products_at_once = 0;
  /// Largest absolute error of rounding a tiny number: a weight, the output, all other steps.
  double weight_underflow = 0;
  double storage_underflow = 0;
  double inner_underflow = 0;
  /// Weights are stored before they are divided by their sum, under a scale that keeps the largest
  /// one near the top of their format: what underflow loses is divided, too.
  bool weights_scaled = false;
  double lambda = 6;  ///< standard deviations that count as likely

  /// Accumulators that round toward zero err by up to two unit roundoffs.
  double worst_score() const { return products_at_once > 0 ? 2 * score : score; }
  double worst_accumulation() const {
    return products_at_once > 0 ? 2 * accumulation : accumulation;
  }

  /// How an output that is recorded in `format` was rounded. A format that is wider than the
  /// model's output shows that the model's kernel stored that tensor in it, unless all its values
  /// are numbers of the narrower one (`narrow`).
  FormatRounding output_rounding(const FloatFormat& format, bool narrow = false) const;
};

}  // namespace gqa
