#include "gqa/audit/decide/stated_tolerance.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "gqa/error.hpp"

namespace gqa {
namespace {

Rational non_negative(const std::optional<std::string>& text, const std::string& where) {
  if (!text) return 0;
  Rational value = parse_rational(*text, where);
  if (value < 0) {
    throw InputError("tolerance.negative", where, fmt::format("{} is negative", *text));
  }
  return value;
}

}  // namespace

const PrecisionModel& parse_model(const std::string& name, const std::string& where) {
  const PrecisionModel* model = find_precision_model(name);
  if (model != nullptr) return *model;
  throw InputError(
      "tolerance.unknown_model", where,
      fmt::format("\"{}\" is not known; write one of {}", name, fmt::join(model_names(), ", ")));
}

std::optional<Tolerance> stated_tolerance(
    const ToleranceWords& words, const std::function<std::string(std::string_view)>& place) {
  const auto at = [&place](std::string_view word) {
    return place ? place(word) : std::string(word);
  };
  const bool absolute_relative = words.atol || words.rtol;
  const auto refuse_beside = [&](bool stated, std::string_view word, std::string_view other) {
    if (!stated) return;
    throw InputError("tolerance.stated_twice", at(word),
                     fmt::format("{} is stated too; one of them is expected", at(other)));
  };
  refuse_beside(words.max_ulp && absolute_relative, "max_ulp", words.atol ? "atol" : "rtol");
  refuse_beside(words.model && absolute_relative, "model", words.atol ? "atol" : "rtol");
  refuse_beside(words.model && words.max_ulp, "model", "max_ulp");
  refuse_beside(words.accept_worst_case && absolute_relative, "accept",
                words.atol ? "atol" : "rtol");
  refuse_beside(words.accept_worst_case && words.max_ulp, "accept", "max_ulp");
  if (absolute_relative) {
    return AbsoluteRelativeTolerance{non_negative(words.atol, at("atol")),
                                     non_negative(words.rtol, at("rtol"))};
  }
  if (words.max_ulp) return UlpTolerance{non_negative(words.max_ulp, at("max_ulp"))};
  if (!words.model) return std::nullopt;
  return ModelTolerance{&parse_model(*words.model, at("model")), words.accept_worst_case, {}};
}

}  // namespace gqa
