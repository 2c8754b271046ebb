// Reports on probes: what did not pass, what was not asked, and what a kernel's contract is.
#include "gqa/report/probe_report.hpp"

#include <doctest/doctest.h>

#include "support/text.hpp"

using namespace gqa;
using gqa::test::contains;

namespace {

ProbeResult result_of(const std::string& name, Verdict verdict) {
  ProbeResult result;
  result.probe.name = name;
  result.probe.reads = "what " + name + " reads";
  result.verdict = verdict;
  return result;
}

/// One probe of every kind: passed, failed, crashed, refused.
ProbeReport mixed_report() {
  ProbeReport report;
  report.type = ElementType::binary16;
  report.tolerance = AbsoluteRelativeTolerance{};
  report.results = {result_of("good", Verdict::pass), result_of("bad", Verdict::fail),
                    result_of("crashed", Verdict::error), result_of("refused", Verdict::error)};
  report.results[1].violations = 3;
  report.results[1].where = "query head 1";
  report.results[2].answer.finding = "crashed with signal 11";
  report.results[3].answer.supported = false;
  report.diagnosis.status = DiagnosisStatus::unexplained;
  return report;
}

}  // namespace

TEST_CASE("probe_report: failures, findings and what was refused are told, passes counted") {
  const std::string text = probe_text(mixed_report());
  CAPTURE(text);
  CHECK(contains(text, "finding   crashed: crashed with signal 11\n"));
  CHECK(contains(text, "fail      bad: what bad reads\n    3 violations: query head 1\n"));
  CHECK(contains(text, "error     crashed: "));
  CHECK_FALSE(contains(text, "good"));
  CHECK_FALSE(contains(text, "refused"));
  CHECK(contains(text, "diagnosis: unexplained"));
  CHECK(text.ends_with(
      "1 of 3 probes in binary16 passed against atol 0, rtol 0; 1 not supported: not verified\n"));
}

TEST_CASE("probe_report: JSON has every probe, the refused as unsupported") {
  const auto json = probe_json(mixed_report());
  CHECK(json["schema"] == "gqaverify.probe/1");
  CHECK(json["element_type"] == "binary16");
  CHECK(json["summary"].dump() == R"({"pass":1,"fail":1,"undecided":0,"error":1,"unsupported":1})");
  REQUIRE(json["probes"].size() == 4);
  CHECK(json["probes"][1]["violations"] == 3);
  CHECK(json["probes"][1]["where"] == "query head 1");
  CHECK(json["probes"][2]["finding"] == "crashed with signal 11");
  CHECK(json["probes"][3]["verdict"] == "unsupported");
  CHECK(json["probes"][3]["supported"] == false);
  CHECK(json["diagnosis"]["status"] == "unexplained");
}

TEST_CASE("probe_report: a narrow sum within a loose model is a finding though all pass") {
  ProbeReport report;
  report.tolerance = ModelTolerance{&f16_model};
  report.results = {result_of("good", Verdict::pass)};
  CHECK_FALSE(contains(probe_text(report), "finding"));
  report.diagnosis.status = DiagnosisStatus::named;
  report.diagnosis.explanations.push_back({{Fault{find_fault("softmax.binary16_sum")}}, 1, 1});
  CHECK(
      contains(probe_text(report),
               "\nfinding: within the rounding of that model, and what softmax.binary16_sum is\n"));
}

TEST_CASE("identify_report: the table marks what differs and what is unknown") {
  const std::vector<IdentifiedRule> rules{
      {"head map", "contiguous", "contiguous", Agreement::agrees},
      {"scale", "0.5", "0.25", Agreement::differs},
      {"sinks", "exp(z)", "no answer", Agreement::undetermined}};
  const std::string text = identify_text(mixed_report(), rules);
  CAPTURE(text);
  CHECK(contains(text, "  head map  contiguous  the same\n"));
  CHECK(contains(text, "! scale     0.5         0.25\n"));
  CHECK(contains(text, "? sinks     exp(z)      no answer\n"));
  const auto json = identify_json(mixed_report(), rules);
  CHECK(json["schema"] == "gqaverify.identify/1");
  CHECK(json["rules"][1].dump() ==
        R"({"rule":"scale","declared":"0.5","found":"0.25","agreement":"differs"})");
  CHECK(json["rules"][2]["agreement"] == "undetermined");
}
