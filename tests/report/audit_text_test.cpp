// The report of an audit in words: what was declared, and what is wrong with single elements.
#include <doctest/doctest.h>

#include "gqa/report/audit_report.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"

using namespace gqa;
using gqa::test::contains;
using gqa::test::infinity;
using gqa::test::not_a_number;

namespace {

AuditCase plain_case(Verdict verdict) {
  AuditCase entry;
  entry.path = "a.npz";
  entry.verdict = verdict;
  entry.dimensions = {1, 4, 2, 1, 0, 5, 16, 16};
  entry.element_type = "binary32";
  entry.tolerance = UlpTolerance{1};
  entry.outputs.push_back({"output", AuditResult{verdict, {}, AuditTally(1, 4, 1, 16), ""}});
  entry.result = entry.outputs.front().result;
  return entry;
}

// One element [0, 0, 0, 0] that is wrong, or whose rightness is open.
std::string text_with(double output, Bounds reference, double ulps, Uncertain within) {
  AuditCase entry = plain_case(Verdict::fail);
  AuditTally& tally = entry.result->tally;
  tally.add_violation(0, 0, 0);
  WorstElement worst;
  worst.output = output;
  worst.reference = reference;
  worst.ulp_error = {ulps, ulps};
  worst.absolute_error = {ulps / 8, ulps / 8};
  worst.allowed = {0.0625, 0.0625};
  worst.within = within;
  tally.add_worst(worst);
  return case_text(entry);
}

}  // namespace

TEST_CASE("audit_text: a wrong number has its distance from the exact value") {
  const std::string text = text_with(2.5, {2, 2.25}, 12, Uncertain::no());
  CHECK(contains(text,
                 "batch 0, head 0, row 0, column 0: got 2.5, exact between 2 and 2.25, off by 1.5, "
                 "allowed 0.0625\n"));
}

TEST_CASE("audit_text: where NaN or infinity is demanded, it says so instead of a distance") {
  std::string text = text_with(2.5, {not_a_number, not_a_number}, 0, Uncertain::no());
  CAPTURE(text);
  CHECK(contains(text, "column 0: got 2.5, the contract demands NaN\n"));
  CHECK_FALSE(contains(text, "nan,"));
  text = text_with(2.5, {-infinity, -infinity}, 0, Uncertain::no());
  CHECK(contains(text, "column 0: got 2.5, the contract demands -inf\n"));
}

TEST_CASE("audit_text: NaN in the place of a number has no distance from it") {
  const std::string text = text_with(not_a_number, {2, 2.25}, 0, Uncertain::no());
  CHECK(contains(text, "column 0: got nan, exact between 2 and 2.25\n"));
}

TEST_CASE("audit_text: what is no violation is not shown among the violations") {
  CHECK_FALSE(contains(text_with(2.5, {2, 3}, 0, Uncertain::unknown()), "got 2.5"));
  CHECK_FALSE(contains(text_with(2.5, {2, 3}, 1, Uncertain::yes()), "got 2.5"));
}

TEST_CASE("audit_json: an element without an error in ulp has nan there, not 0") {
  AuditCase entry = plain_case(Verdict::fail);
  WorstElement worst;
  worst.output = 2.5;
  worst.reference = {not_a_number, not_a_number};
  worst.within = Uncertain::no();
  entry.result->tally.add_worst(worst);
  CHECK(case_json(entry)["worst"][0]["ulp"] == "nan");
}

TEST_CASE("audit_text: the contract's line names every operand that adds a rule") {
  AuditCase entry = plain_case(Verdict::pass);
  CHECK(contains(case_text(entry), "; contiguous head map, not causal, scale 1/sqrt(16)\n"));
  entry.operands = {3, true, true, true, true, true};
  CHECK(
      contains(case_text(entry),
               "scale 1/sqrt(16), float mask, ALiBi slopes, sinks, cache lengths, 3 past keys\n"));
  entry.operands = {};
  entry.operands.mask = true;
  CHECK(contains(case_text(entry), "scale 1/sqrt(16), boolean mask\n"));
}

TEST_CASE("audit_text: a finding says that it does not fail, why, and what would decide") {
  AuditCase entry = plain_case(Verdict::pass);
  entry.tolerance = ModelTolerance{&f16_model, false, {&f16_f32_model, &f16_model}};
  const std::string text = case_text(entry);
  CAPTURE(text);
  CHECK(contains(text, "finding: the rounding of f16 explains output, that of f16-f32 does not"));
  CHECK(contains(text, "this does not fail: no model was named"));
  CHECK(contains(text, "if yours computes in f16-f32, name that model"));
  // A named model leaves nothing to choose.
  entry.tolerance = ModelTolerance{&f16_model, false, {}};
  CHECK_FALSE(contains(case_text(entry), "finding"));
}
