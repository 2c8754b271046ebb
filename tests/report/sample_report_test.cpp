// Reports say plainly that a sample was audited, where one was.
#include <doctest/doctest.h>

#include "gqa/report/audit_report.hpp"
#include "gqa/report/junit.hpp"
#include "support/text.hpp"

using namespace gqa;
using gqa::test::contains;

namespace {

AuditCase sampled_case(Verdict verdict) {
  AuditCase entry;
  entry.path = "a.npz";
  entry.verdict = verdict;
  entry.sample = SampledRows{100, 4096, 7};
  for (const char* name : {"output", "present_key", "qk_matmul_output", "lse"}) {
    entry.outputs.push_back({name, AuditResult{verdict, {}, AuditTally(1, 1, 1, 1), ""}});
  }
  entry.result = entry.outputs.front().result;
  return entry;
}

}  // namespace

TEST_CASE("audit_report: a pass on a sample is called one, and so is the last line") {
  const std::string text = audit_text({sampled_case(Verdict::pass)});
  CAPTURE(text);
  CHECK(contains(text, "pass on a sample of 100 of 4096 rows (seed 7): the other rows were not"));
  CHECK(text.ends_with("1 of 1 passed on samples\n"));
  CHECK(contains(audit_text({sampled_case(Verdict::fail)}), "fail on a sample of 100 of 4096"));
  AuditCase whole = sampled_case(Verdict::pass);
  whole.sample.reset();
  CHECK_FALSE(contains(audit_text({whole}), "sample"));
}

TEST_CASE("audit_report: JSON has the sample's size, what it is of, and the seed") {
  const auto json = audit_json({sampled_case(Verdict::pass)});
  CHECK(json["cases"][0]["sample"].dump() == R"({"rows":100,"of":4096,"seed":7})");
  AuditCase whole = sampled_case(Verdict::pass);
  whole.sample.reset();
  CHECK_FALSE(audit_json({whole})["cases"][0].contains("sample"));
}

TEST_CASE("junit: the name of every output audited by rows has the sample, caches have not") {
  const std::string xml = junit_xml({sampled_case(Verdict::pass)});
  CAPTURE(xml);
  for (const char* name : {"output", "qk_matmul_output", "lse"}) {
    CHECK(contains(xml,
                   std::string("name=\"") + name + " (a sample of 100 of 4096 rows (seed 7))\""));
  }
  CHECK(contains(xml, "name=\"present_key\" time=\"0.000\"/>"));
}
