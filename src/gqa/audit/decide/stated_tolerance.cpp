#include "gqa/audit/decide/stated_tolerance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "gqa/error.hpp"
#include "gqa/near_words.hpp"

namespace gqa {
namespace {

// A type in the words of other systems, and the models whose inputs have it.
struct OtherWord {
  std::string_view word;
  std::string_view models;
};
constexpr std::string_view of_binary16 = "f16-f32, f16-stored, f16-products, f16";
constexpr std::string_view of_bfloat16 = "bf16-f32, bf16-stored, bf16-products, bf16";
constexpr OtherWord other_words[] = {
    {"fp64", "f64"},           {"float64", "f64"},       {"double", "f64"},
    {"binary64", "f64"},       {"fp32", "f32"},          {"float32", "f32"},
    {"float", "f32"},          {"single", "f32"},        {"binary32", "f32"},
    {"half", of_binary16},     {"fp16", of_binary16},    {"float16", of_binary16},
    {"binary16", of_binary16}, {"bfloat16", of_bfloat16}};

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
  const std::string word = plain_spelling(name);
  for (const std::string_view known : model_names()) {
    if (plain_spelling(known) == word) return *find_precision_model(known);
  }
  const OtherWord* other = std::ranges::find(other_words, word, &OtherWord::word);
  if (other != std::end(other_words) && other->models.find(',') == other->models.npos) {
    return *find_precision_model(other->models);
  }
  throw InputError(
      "tolerance.unknown_model", where,
      other != std::end(other_words)
          ? fmt::format("\"{}\" is a type, and does not say in what sums are: write one "
                        "of {}",
                        name, other->models)
          : unknown_word(name, model_names()));
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
