// Sets of faults, what inputs cannot show, and what is said of the unexplained.
#include "gqa/diagnose/diagnosis.hpp"

#include <doctest/doctest.h>

#include "diagnose/live_case.hpp"
#include "support/errors.hpp"

using namespace gqa;
using test::diagnosis_of;
using test::misdeclared;

namespace {

bool has(const std::vector<std::string>& names, const char* slug) {
  return std::ranges::find(names, slug) != names.end();
}

Contract causal_contract() {
  Contract contract;
  contract.causal = true;
  return contract;
}

std::vector<std::string> hidden_by(const test::CaseSizes& sizes, const Contract& contract) {
  const DiagnosisCase problem = misdeclared(test::normal_problem(sizes), contract, contract);
  return hidden_faults(problem, problem.declared).certain;
}

// What is measured where no fault is looked for.
Diagnosis without_search(const ProblemTensors& tensors) {
  SearchOptions none;
  none.largest_set = 0;
  return diagnosis_of(make_diagnosis_case(tensors, {}, ModelTolerance{&f32_model}), none);
}

}  // namespace

TEST_CASE("diagnosis: a single KV head cannot show which head is read, two can") {
  const auto one = hidden_by({.kv_heads = 1}, {});
  for (const char* slug : {"head_map.tiled", "head_map.key_tiled", "head_map.value_tiled",
                           "head_map.single_kv_head"}) {
    CAPTURE(slug);
    CHECK(has(one, slug));
    CHECK_FALSE(has(hidden_by({.kv_heads = 2}, {}), slug));
  }
  CHECK_FALSE(has(one, "scale.missing"));
  // Without a rule of positions every key is repeated alike.
  CHECK(has(one, "head_map.sequence_repeated"));
}

TEST_CASE("diagnosis: as many queries as keys cannot show the alignment, a chunk can") {
  const auto square = hidden_by({}, causal_contract());
  for (const char* slug : {"causal.top_left", "causal.clamped", "causal.only_square"}) {
    CAPTURE(slug);
    CHECK(has(square, slug));
  }
  CHECK_FALSE(has(square, "causal.missing"));
  CHECK_FALSE(has(square, "causal.row_over_group"));
  const auto chunk = hidden_by({.queries = 3}, causal_contract());
  CHECK_FALSE(has(chunk, "causal.top_left"));
  CHECK_FALSE(has(chunk, "causal.only_square"));
  CHECK(has(chunk, "causal.clamped"));
}

TEST_CASE("diagnosis: a fault of what the problem has not is not listed") {
  const auto plain = hidden_by({}, {});
  for (const char* slug : {"window.one_wide", "mask.inverted", "sink.dropped", "softcap.missing",
                           "bias.alibi_exponent", "length.capacity", "causal.top_left"}) {
    CAPTURE(slug);
    CHECK_FALSE(has(plain, slug));
  }
}

TEST_CASE("diagnosis: nothing is said to be hidden where not every row can be asked") {
  const DiagnosisCase problem =
      misdeclared(test::normal_problem({}), causal_contract(), causal_contract());
  const HiddenFaults asked = hidden_faults(problem, problem.declared, 24 * 6);
  const HiddenFaults unasked = hidden_faults(problem, problem.declared, 23 * 6);
  CHECK(has(asked.certain, "causal.top_left"));
  CHECK(asked.rows_compared.empty());
  CHECK_FALSE(has(unasked.certain, "causal.top_left"));
  // It is said of the rows that were asked.
  CHECK(has(unasked.rows_compared, "causal.top_left"));
  CHECK_FALSE(has(unasked.rows_compared, "causal.missing"));
  CHECK(unasked.rows == 23);
  CHECK(unasked.of == 24);
  // What an edit knows to be the same needs no row.
  CHECK(has(unasked.certain, "causal.only_square"));
  // Without a row nothing was compared.
  CHECK(hidden_faults(problem, problem.declared, 0).rows_compared.empty());
}

TEST_CASE("diagnosis: a loose tolerance hides faults, whether or not every row can be asked") {
  DiagnosisCase problem =
      misdeclared(test::normal_problem({.queries = 3}), causal_contract(), causal_contract());
  for (const std::int64_t keys : {std::int64_t{12 * 6}, std::int64_t{11 * 6}}) {
    CAPTURE(keys);
    const auto hidden = [&](const Rational& absolute) {
      problem.tolerance = AbsoluteRelativeTolerance{absolute, 0};
      const HiddenFaults found = hidden_faults(problem, problem.declared, keys);
      return keys == 12 * 6 ? found.certain : found.rows_compared;
    };
    // No difference of two outputs exceeds that of two values, which are below 10.
    for (const char* slug : {"head_map.tiled", "causal.missing", "scale.missing"}) {
      CAPTURE(slug);
      CHECK(has(hidden(20), slug));
      CHECK_FALSE(has(hidden(Rational(1, 1000)), slug));
    }
  }
}

TEST_CASE("diagnosis: a pass lists what its inputs cannot show, and names nothing") {
  const DiagnosisCase problem =
      misdeclared(test::normal_problem({.kv_heads = 1}), causal_contract(), causal_contract());
  const Diagnosis diagnosis = diagnosis_of(problem);
  CHECK(diagnosis.status == DiagnosisStatus::none);
  CHECK(diagnosis.explanations.empty());
  CHECK(diagnosis.candidates == 0);
  for (const char* slug : {"head_map.tiled", "causal.top_left"}) {
    CAPTURE(slug);
    CHECK(std::ranges::find(diagnosis.inseparable,
                            std::pair<std::string, std::string>("contract", slug)) !=
          diagnosis.inseparable.end());
  }
}

TEST_CASE("diagnosis: two explanations that the inputs cannot tell apart are both given") {
  // With two KV heads of one query head each, tiled is contiguous; with four on two, replicas
  // that are taken modulo read as tiled heads do.
  Contract tiled;
  tiled.head_map.kind = HeadMapKind::interleaved;
  const Diagnosis diagnosis = diagnosis_of(misdeclared(test::normal_problem({}), tiled, {}));
  CHECK(test::named_by(diagnosis) == "head_map.tiled or head_map.replica_modulo");
  REQUIRE(diagnosis.inseparable.size() == 1);
  CHECK(diagnosis.inseparable[0] ==
        std::pair<std::string, std::string>("head_map.tiled", "head_map.replica_modulo"));
}

TEST_CASE("diagnosis: the smallest set is found, its faults in the order of the catalogue") {
  Contract real, declared = causal_contract();
  real.head_map.kind = HeadMapKind::interleaved;
  real.scale = Rational(1);
  const DiagnosisCase problem = misdeclared(test::normal_problem({.q_heads = 6}), real, declared);
  const Diagnosis diagnosis = diagnosis_of(problem);
  REQUIRE(diagnosis.status == DiagnosisStatus::named);
  CAPTURE(test::named_by(diagnosis));
  REQUIRE(diagnosis.explanations.size() == 1);
  const Explanation& explanation = diagnosis.explanations.front();
  CHECK(explanation.describe() == "head_map.tiled + causal.missing + scale.missing");
  CHECK(explanation.rows == 36);
  CHECK(explanation.certified_rows == 36);

  SearchOptions two;
  two.largest_set = 2;
  CHECK(diagnosis_of(problem, two).status == DiagnosisStatus::unexplained);
  SearchOptions few;
  few.largest_candidates = 1;
  const Diagnosis cut = diagnosis_of(problem, few);
  CHECK(cut.cut_short);
  CHECK(cut.status == DiagnosisStatus::unexplained);
}

TEST_CASE("diagnosis: the unexplained is described by where it is, and by what fits") {
  ProblemTensors tensors = test::normal_problem({});
  auto output = std::make_shared<TypedTensor>(*test::computed(tensors, {}));
  // Element [0, 2, 4, 1] of [1, 4, 6, 3].
  const std::size_t index = (2 * 6 + 4) * 3 + 1;
  const float wrong = 100;
  std::memcpy(output->bytes.data() + 4 * index, &wrong, 4);
  tensors.output = output;
  const Diagnosis diagnosis =
      diagnosis_of(make_diagnosis_case(tensors, {}, ModelTolerance{&f32_model}));
  CHECK(diagnosis.status == DiagnosisStatus::unexplained);
  CHECK(diagnosis.explanations.empty());
  CHECK(diagnosis.measurements ==
        std::vector<std::string>{"the wrong rows are in every batch entry",
                                 "the wrong rows are in query head 2 only",
                                 "the wrong rows are in query row 4 only"});

  Contract swapped;
  swapped.head_map = {HeadMapKind::explicit_list, {0, 1, 1, 1}};
  SearchOptions none;
  none.largest_set = 0;
  const Diagnosis heads = diagnosis_of(misdeclared(test::normal_problem({}), swapped, {}), none);
  REQUIRE(heads.measurements.size() == 4);
  CHECK(heads.measurements[1] == "the wrong rows are in query head 1 only");
  CHECK(heads.measurements[2] == "the wrong rows are in every query row");
  CHECK(heads.measurements[3] == "query head 1 fits KV head 1");
}

TEST_CASE("diagnosis: several wrong rows are listed, and not said of rows that were not compared") {
  ProblemTensors tensors = test::normal_problem({});
  auto output = std::make_shared<TypedTensor>(*test::computed(tensors, {}));
  // Rows 1, 2, 3 and 5 of [1, 4, 6, 3], in heads 0 and 2.
  for (const std::size_t row : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{5}}) {
    for (const std::size_t head : {std::size_t{0}, std::size_t{2}}) {
      const float wrong = 100 + static_cast<float>(row);
      std::memcpy(output->bytes.data() + 4 * (head * 6 + row) * 3, &wrong, 4);
    }
  }
  tensors.output = output;
  const Diagnosis diagnosis = without_search(tensors);
  REQUIRE(diagnosis.measurements.size() == 3);
  CHECK(diagnosis.measurements[1] == "the wrong rows are in query heads 0 and 2 only");
  CHECK(diagnosis.measurements[2] == "the wrong rows are in query rows 1 to 3 and 5 only");
}

TEST_CASE("diagnosis: where not every row is compared, it says so of the rows compared") {
  // 60 rows on 2000 keys: some of the rows are looked at.
  ProblemTensors tensors = test::normal_problem({.q_heads = 2, .queries = 30, .keys = 2000});
  auto output = std::make_shared<TypedTensor>(*test::computed(tensors, {}));
  const float wrong = 100;
  for (std::size_t row = 0; row < 30; ++row) {
    std::memcpy(output->bytes.data() + 4 * row * 3, &wrong, 4);
  }
  tensors.output = output;
  const Diagnosis diagnosis = without_search(tensors);
  REQUIRE(diagnosis.measurements.size() == 3);
  CHECK(diagnosis.measurements[1] ==
        "the wrong ones of the rows compared are in query head 0 only");
}

TEST_CASE("diagnosis: NaN where a number belongs is wrong and stays unexplained") {
  ProblemTensors tensors = test::normal_problem({});
  auto output = std::make_shared<TypedTensor>(*test::computed(tensors, {}));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(output->bytes.data(), &nan, 4);
  tensors.output = output;
  const DiagnosisCase problem = make_diagnosis_case(tensors, {}, ModelTolerance{&f32_model});
  CHECK_FALSE(matches_roughly(problem, problem.declared, {0, 0, 0}));
  CHECK(matches(problem, problem.declared, {0, 0, 0}).certainly_not());
  CHECK(diagnosis_of(problem).status == DiagnosisStatus::unexplained);
}

TEST_CASE("diagnosis: a case without an output is refused") {
  CHECK(test::refusal_of([] {
          make_diagnosis_case(test::normal_problem({}), {}, ModelTolerance{&f32_model});
        }) == "contract.missing_tensor at output");
}

TEST_CASE("diagnosis: no case is no fault") {
  CHECK(diagnose({}).status == DiagnosisStatus::none);
}
