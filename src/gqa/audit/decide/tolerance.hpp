// How far an output element may be from the exact value.
#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "gqa/audit/models/precision_model.hpp"
#include "gqa/num/rational.hpp"

namespace gqa {

/// |output - reference| <= absolute + relative * |reference|, as numpy.allclose.
struct AbsoluteRelativeTolerance {
  Rational absolute = 0;
  Rational relative = 0;
};

/// |output - reference| <= ulps * ulp(reference) in the output's format.
struct UlpTolerance {
  Rational ulps = 0;
};

/// What the rounding of a precision model explains.
struct ModelTolerance {
  const PrecisionModel* model = nullptr;
  bool accept_worst_case = false;  ///< pass what only the worst case explains
  /// Where the model was chosen, not named: all that were tried, tight to loose. `model` is the one
  /// that explains the output, the last; where none does, the first.
  std::vector<const PrecisionModel*> tried = {};

  /// What was tried before `model`; empty where it was named, or none explains the output.
  std::span<const PrecisionModel* const> tighter() const;
};

using Tolerance = std::variant<AbsoluteRelativeTolerance, UlpTolerance, ModelTolerance>;

/// "atol 1/100000, rtol 0", "8 ulp", "precision model f32",
/// "precision model f16 (after f16-f32)".
std::string describe(const Tolerance& tolerance);

/// "f16-f32, f16".
std::string model_list(std::span<const PrecisionModel* const> models);

}  // namespace gqa
