// How a recorded output was rounded at last.
#pragma once

#include "gqa/attention/strided_tensor.hpp"
#include "gqa/audit/decide/tolerance.hpp"

namespace gqa {

/// Are all finite values of the tensor numbers with at most so many significant bits? Reads until
/// one is not.
bool has_precision(const StridedTensor& tensor, int significant_bits);

/// Is the tensor's format wider than the model's output, and holds it numbers of the narrower one
/// alone?
bool holds_narrower_numbers(const PrecisionModel& model, const StridedTensor& recorded);

/// The rounding of `model`'s output as `recorded` holds it: that of the format, if it is wider than
/// the model's own, unless all values are numbers of the narrower one.
FormatRounding recorded_rounding(const PrecisionModel& model, const StridedTensor& recorded);
/// The same of the model of a tolerance; of a stated one, zero.
FormatRounding recorded_rounding(const Tolerance& tolerance, const StridedTensor& recorded);

}  // namespace gqa
