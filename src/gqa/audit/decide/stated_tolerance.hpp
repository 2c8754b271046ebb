// A tolerance stated in words, as users of programs and libraries do.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "gqa/audit/decide/tolerance.hpp"

namespace gqa {

/// Numbers as parse_rational reads them: "1e-5", "1/1000", "0x1p-10".
struct ToleranceWords {
  std::optional<std::string> atol = {};  ///< |output - reference| <= atol + rtol |reference|
  std::optional<std::string> rtol = {};
  std::optional<std::string> max_ulp = {};
  std::optional<std::string> model = {};  ///< the name of a precision model
  bool accept_worst_case = false;         ///< of `model`, or of models that are chosen
};

/// The precision model of that name. Errors: InputError at `where`: "tolerance.unknown_model".
const PrecisionModel& parse_model(const std::string& name, const std::string& where);

/// nullopt: no tolerance is stated, so models are chosen (audit_with_candidates).
///
/// `place` gives what an error names for a word ("max_ulp"); without it the word itself.
/// Errors: InputError there: "tolerance.negative", "tolerance.unknown_model",
/// "tolerance.stated_twice" (words that exclude each other), those of parse_rational.
std::optional<Tolerance> stated_tolerance(
    const ToleranceWords& words, const std::function<std::string(std::string_view)>& place = {});

}  // namespace gqa
