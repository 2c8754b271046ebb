// A diagnosis in words and as JSON.
#include "gqa/report/diagnosis_report.hpp"

#include <doctest/doctest.h>

using namespace gqa;

namespace {

Diagnosis named(std::vector<std::vector<const char*>> sets) {
  Diagnosis diagnosis;
  diagnosis.status = DiagnosisStatus::named;
  for (const auto& slugs : sets) {
    Explanation& explanation = diagnosis.explanations.emplace_back();
    explanation.rows = 24;
    explanation.certified_rows = 12;
    for (const char* slug : slugs) {
      const FaultKind* kind = find_fault(slug);
      REQUIRE(kind != nullptr);
      explanation.faults.push_back({kind, kind->parameters.empty() ? 0 : kind->parameters[0]});
    }
  }
  diagnosis.candidates = 7;
  return diagnosis;
}

}  // namespace

TEST_CASE("diagnosis_report: one fault has its sentence and its wrong formula") {
  CHECK(diagnosis_text(named({{"scale.twice"}}), "  ") ==
        "  diagnosis:\n"
        "    scale.twice: the scale is applied twice\n"
        "        s = scale^2 q.k\n");
}

TEST_CASE("diagnosis_report: faults together and alternatives are told apart") {
  const std::string text =
      diagnosis_text(named({{"window.one_wide", "scale.twice"}, {"merge.unweighted"}}), "");
  CAPTURE(text);
  CHECK(text.starts_with("diagnosis, 2 faults together:\n  window.one_wide: "));
  CHECK(text.find("\n  scale.twice: ") != std::string::npos);
  CHECK(text.find("\nor just as well:\n  merge.unweighted (shards of 1 keys): ") !=
        std::string::npos);
}

TEST_CASE("diagnosis_report: the unexplained says how much was tried, and what was measured") {
  Diagnosis diagnosis;
  diagnosis.status = DiagnosisStatus::unexplained;
  diagnosis.candidates = 1234;
  diagnosis.measurements = {"the wrong rows are in query head 2 only"};
  CHECK(diagnosis_text(diagnosis, "") ==
        "diagnosis: unexplained by any set of up to three known faults (1234 tried)\n"
        "  the wrong rows are in query head 2 only\n");
  diagnosis.cut_short = true;
  CHECK(diagnosis_text(diagnosis, "")
            .starts_with("diagnosis: unexplained by any tried set of up to three known faults"));
}

TEST_CASE("diagnosis_report: people read what inputs cannot show of the common families alone") {
  Diagnosis diagnosis;
  CHECK(diagnosis_text(diagnosis, "").empty());
  diagnosis.inseparable = {{"contract", "head_map.tiled"}, {"contract", "mask.value_leak"}};
  CHECK(diagnosis_text(diagnosis, "") == "these inputs cannot show: head_map.tiled\n");
  const auto json = diagnosis_json(diagnosis);
  CHECK(json["status"] == "none");
  CHECK(json["inseparable"].dump() ==
        R"([["contract","head_map.tiled"],["contract","mask.value_leak"]])");
  CHECK(json["explanations"].empty());
}

TEST_CASE("diagnosis_report: what the rows asked do not show is told with how many they were") {
  Diagnosis diagnosis;
  CHECK_FALSE(diagnosis_json(diagnosis).contains("not_shown"));
  diagnosis.hidden.rows_compared = {"scale.missing", "mask.value_leak"};
  diagnosis.hidden.rows = 58;
  diagnosis.hidden.of = 1024;
  CHECK(diagnosis_text(diagnosis, "") ==
        "these inputs do not show, in the 58 of 1024 rows asked: scale.missing\n");
  CHECK(diagnosis_json(diagnosis)["not_shown"].dump() ==
        R"({"rows":58,"of":1024,"faults":["scale.missing","mask.value_leak"]})");
}

TEST_CASE("diagnosis_report: JSON has slugs, parameters, formulas and the rows that agree") {
  const auto json = diagnosis_json(named({{"scale.twice", "merge.unweighted"}}));
  CHECK(json["status"] == "named");
  CHECK(json["candidates"] == 7);
  REQUIRE(json["explanations"].size() == 1);
  const auto& entry = json["explanations"][0];
  CHECK(entry["faults"].dump() == R"(["scale.twice","merge.unweighted"])");
  CHECK(entry["descriptions"][1] == "merge.unweighted (shards of 1 keys)");
  CHECK(entry["formulas"].dump() == R"(["s = scale^2 q.k","mean over shards"])");
  CHECK(entry["violations"] == 0);
  CHECK(entry["rows"] == 24);
  CHECK(entry["certified_rows"] == 12);
}
