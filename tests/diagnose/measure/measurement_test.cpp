// What is in no list of faults is read off the outputs.
#include "gqa/diagnose/measure/measurement.hpp"

#include <doctest/doctest.h>

#include <cstring>

#include "diagnose/live_case.hpp"
#include "gqa/diagnose/explain/explanation_search.hpp"
#include "gqa/diagnose/measure/common_factor.hpp"

using namespace gqa;
using test::misdeclared;

namespace {

Contract with_map(std::vector<std::int64_t> map) {
  Contract contract;
  contract.head_map = {HeadMapKind::explicit_list, std::move(map)};
  return contract;
}

/// A right output times a factor that no contract has.
DiagnosisCase multiplied_by(float factor) {
  ProblemTensors tensors = test::normal_problem({});
  auto output = std::make_shared<TypedTensor>(*test::computed(tensors, {}));
  std::vector<float> numbers(output->bytes.size() / sizeof(float));
  std::memcpy(numbers.data(), output->bytes.data(), output->bytes.size());
  for (float& number : numbers) number *= factor;
  std::memcpy(output->bytes.data(), numbers.data(), output->bytes.size());
  tensors.output = output;
  return make_diagnosis_case(tensors, {}, ModelTolerance{&f32_model});
}

std::vector<RowPlace> all_places(const DiagnosisCase& problem) {
  return places_of(problem.declared, 1'000'000);
}

/// The one fault of the one explanation, with what was measured.
std::string only_fault(const DiagnosisCase& problem) {
  const Diagnosis diagnosis = test::diagnosis_of(problem);
  if (diagnosis.explanations.size() != 1) return test::named_by(diagnosis);
  return diagnosis.explanations.front().describe();
}

}  // namespace

TEST_CASE("measurement: a head map that no list holds is read off, head by head") {
  for (const std::vector<std::int64_t>& map :
       {std::vector<std::int64_t>{1, 0, 0, 1}, {1, 1, 0, 0}, {0, 1, 1, 1}}) {
    const DiagnosisCase problem = misdeclared(test::normal_problem({}), with_map(map), {});
    const auto fitting = fitting_heads(problem);
    REQUIRE(fitting.size() == map.size());
    for (std::size_t h = 0; h < map.size(); ++h) {
      CAPTURE(h);
      CHECK(fitting[h] == std::vector{map[h]});
    }
    CHECK(only_fault(problem) == fmt::format("head_map.other ({})", fmt::join(map, ",")));
  }
}

TEST_CASE("measurement: no KV head fits a query head whose scale is wrong, both fit equal ones") {
  Contract scaled;
  scaled.scale = Rational(2);
  for (const auto& heads : fitting_heads(misdeclared(test::normal_problem({}), scaled, {}))) {
    CHECK(heads.empty());
  }
  ProblemTensors equal = test::normal_problem({});
  equal.key = test::tensor_of({1, 2, 6, 4}, std::vector<float>(48, 1));
  equal.value = test::tensor_of({1, 2, 6, 3}, std::vector<float>(36, 1));
  for (const auto& heads : fitting_heads(misdeclared(equal, {}, {}))) {
    CHECK(heads == std::vector<std::int64_t>{0, 1});
  }
}

TEST_CASE("measurement: an odd scale is read off, to about the precision of the outputs") {
  for (const auto& scale : {Rational(3, 10), Rational(7, 5), Rational(1, 40), Rational(11)}) {
    Contract real;
    real.scale = scale;
    const DiagnosisCase problem = misdeclared(test::normal_problem({}), real, {});
    const auto found = fitting_scale(problem, all_places(problem));
    CAPTURE(to_text(scale));
    REQUIRE(found.has_value());
    CHECK(found->value == doctest::Approx(scale.get_d()).epsilon(1e-4));
    CHECK(found->allows(scale.get_d()));
    CHECK(only_fault(problem).starts_with("scale.other ("));
  }
}

TEST_CASE("measurement: an output that is a multiple of the right one is named with its factor") {
  for (const float factor : {0.5F, 2.0F, -1.0F, 0.70710678F, 1.41421356F, 0.3F}) {
    CAPTURE(factor);
    const DiagnosisCase problem = multiplied_by(factor);
    const auto found = fitting_output_factors(problem, all_places(problem));
    REQUIRE(found.has_value());
    CHECK(found->groups.size() == 1);
    for (const double of_head : found->of_head) {
      CHECK(of_head == doctest::Approx(factor).epsilon(1e-6));
    }
    CHECK(only_fault(problem).starts_with("scale.output ("));
  }
  // Two heads swapped are no multiple, and a right output needs no factor.
  const DiagnosisCase swapped = misdeclared(test::normal_problem({}), with_map({1, 0, 0, 1}), {});
  CHECK_FALSE(fitting_output_factors(swapped, all_places(swapped)).has_value());
  const DiagnosisCase right = misdeclared(test::normal_problem({}), {}, {});
  CHECK_FALSE(fitting_output_factors(right, all_places(right)).has_value());
}

TEST_CASE("measurement: no scale fits what a wrong head map computed") {
  const DiagnosisCase problem = misdeclared(test::normal_problem({}), with_map({1, 0, 0, 1}), {});
  CHECK_FALSE(fitting_scale(problem, all_places(problem)).has_value());
}

TEST_CASE("measurement: a range of keys that no list holds is read off") {
  struct Sample {
    Window real, declared;
    bool causal;
    RelativeRange expected;
    const char* text;
  };
  // The history has 12 keys for 12 rows: the expected range is cut at its ends where the real
  // one is open.
  for (const Sample& sample : {Sample{{4, 1}, {2, -1}, true, {-4, 1}, "keys p-4 to p+1"},
                               Sample{{3, 3}, {-1, -1}, false, {-3, 3}, "keys p-3 to p+3"},
                               Sample{{0, 2}, {3, -1}, true, {0, 2}, "keys p+0 to p+2"},
                               Sample{{-1, 1}, {5, 3}, false, {-11, 1}, "keys p-11 to p+1"}}) {
    CAPTURE(std::string(sample.text));
    Contract real, declared;
    real.window = sample.real;
    declared.window = sample.declared;
    declared.causal = sample.causal;
    const DiagnosisCase problem =
        misdeclared(test::normal_problem({.queries = 12, .keys = 12}), real, declared);
    std::vector<RowPlace> wrong;
    for (const RowPlace& place : all_places(problem)) {
      if (!matches_roughly(problem, problem.declared, place)) wrong.push_back(place);
    }
    REQUIRE_FALSE(wrong.empty());
    const auto found = fitting_range(problem, wrong);
    REQUIRE(found.has_value());
    CHECK(found->first == sample.expected.first);
    CHECK(found->last == sample.expected.last);
    CHECK(only_fault(problem) == fmt::format("visibility.other ({} of position p)", sample.text));
  }
}

TEST_CASE("measurement: what the catalogue names is not also named by its numbers") {
  Contract tiled, top_left, causal;
  tiled.head_map.kind = HeadMapKind::interleaved;
  CHECK(only_fault(misdeclared(test::normal_problem({.q_heads = 6}), tiled, {})) ==
        "head_map.tiled");
  causal.causal = top_left.causal = true;
  top_left.causal_alignment = CausalAlignment::top_left;
  const ProblemTensors chunk = test::normal_problem({.queries = 3, .keys = 8});
  CHECK(only_fault(misdeclared(chunk, top_left, causal)) == "causal.top_left");
}
