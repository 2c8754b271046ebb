#include "gqa/audit/decide/stated_tolerance.hpp"

#include <doctest/doctest.h>

#include "gqa/error.hpp"
#include "support/errors.hpp"

using namespace gqa;

namespace {

std::string flag(std::string_view word) {
  return "--" + std::string(word);
}

InputError refusal(const ToleranceWords& words) {
  return test::error_of([&] { stated_tolerance(words, flag); });
}

}  // namespace

TEST_CASE("stated_tolerance: numbers are exact") {
  const auto both = stated_tolerance({.atol = "0.1", .rtol = "1/3"});
  const auto* parts = std::get_if<AbsoluteRelativeTolerance>(&*both);
  REQUIRE(parts != nullptr);
  CHECK(parts->absolute == Rational(1, 10));
  CHECK(parts->relative == Rational(1, 3));
  const auto relative = stated_tolerance({.rtol = "0x1p-4"});
  REQUIRE(std::get_if<AbsoluteRelativeTolerance>(&*relative) != nullptr);
  CHECK(std::get<AbsoluteRelativeTolerance>(*relative).absolute == 0);
  const auto ulps = stated_tolerance({.max_ulp = "2.5"});
  REQUIRE(std::get_if<UlpTolerance>(&*ulps) != nullptr);
  CHECK(std::get<UlpTolerance>(*ulps).ulps == Rational(5, 2));
}

TEST_CASE("stated_tolerance: a model by name, nothing without a word") {
  const auto model = stated_tolerance({.model = "bf16-f32", .accept_worst_case = true});
  const auto* named = std::get_if<ModelTolerance>(&*model);
  REQUIRE(named != nullptr);
  CHECK(named->model == &bf16_f32_model);
  CHECK(named->accept_worst_case);
  CHECK_FALSE(stated_tolerance({}).has_value());
  CHECK_FALSE(stated_tolerance({.accept_worst_case = true}).has_value());
}

TEST_CASE(
    "stated_tolerance: words that exclude each other, negative and unknown ones are refused") {
  const struct {
    ToleranceWords words;
    const char* code;
    const char* where;
  } cases[] = {
      {{.atol = "-1"}, "tolerance.negative", "--atol"},
      {{.rtol = "-1e-9"}, "tolerance.negative", "--rtol"},
      {{.max_ulp = "-1"}, "tolerance.negative", "--max_ulp"},
      {{.model = "f8"}, "tolerance.unknown_model", "--model"},
      {{.atol = "1", .max_ulp = "1"}, "tolerance.stated_twice", "--max_ulp"},
      {{.rtol = "1", .model = "f32"}, "tolerance.stated_twice", "--model"},
      {{.max_ulp = "1", .model = "f32"}, "tolerance.stated_twice", "--model"},
      {{.atol = "1", .accept_worst_case = true}, "tolerance.stated_twice", "--accept"},
      {{.max_ulp = "1", .accept_worst_case = true}, "tolerance.stated_twice", "--accept"},
  };
  for (const auto& wrong : cases) {
    const InputError error = refusal(wrong.words);
    CHECK(error.code() == wrong.code);
    CHECK(error.where() == wrong.where);
  }
}
