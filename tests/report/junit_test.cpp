#include "gqa/report/junit.hpp"

#include <doctest/doctest.h>

#include "support/text.hpp"

using namespace gqa;
using gqa::test::contains;

namespace {

AuditCase case_of(std::string path, Verdict verdict, std::int64_t violations) {
  AuditTally tally(1, 1, 1, 4);
  tally.elements = 4;
  tally.violations = violations;
  tally.undecided = verdict == Verdict::undecided ? 2 : 0;
  AuditResult result{.verdict = verdict, .tally = tally, .where = "batch <0>"};
  AuditCase entry;
  entry.path = std::move(path);
  entry.verdict = verdict;
  entry.tolerance = AbsoluteRelativeTolerance{};
  entry.result = result;
  entry.outputs = {{"output", result}};
  return entry;
}

}  // namespace

TEST_CASE("junit: markup, quotes and white space of names are escaped") {
  CHECK(xml_escaped("a<b>&\"'c") == "a&#60;b&#62;&#38;&#34;&#39;c");
  CHECK(xml_escaped("tab\tline\nreturn\r") == "tab&#9;line&#10;return&#13;");
  CHECK(xml_escaped("plain-name_1.npz") == "plain-name_1.npz");
  CHECK(xml_escaped("\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80") ==
        "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80");
}

TEST_CASE("junit: what XML 1.0 cannot say becomes the replacement character") {
  const std::string r = "\xEF\xBF\xBD";
  CHECK(xml_escaped(std::string_view("\0", 1)) == r);
  CHECK(xml_escaped("\x01z\x1B") == r + "z" + r);
  CHECK(xml_escaped("\xFF") == r);
  CHECK(xml_escaped("\xC3") == r);                  // cut off
  CHECK(xml_escaped("\xC0\x80") == r + r);          // overlong
  CHECK(xml_escaped("\xED\xA0\x80") == r + r + r);  // a surrogate
  CHECK(xml_escaped("\xEF\xBF\xBE") == r);          // U+FFFE
  CHECK(xml_escaped("\xF5\x80\x80\x80") == r + r + r + r);
  CHECK(xml_escaped(r) == r);
}

TEST_CASE("junit: only a pass is a test case without a child") {
  const std::string pass = junit_xml({case_of("p", Verdict::pass, 0)});
  CHECK(contains(pass, "tests=\"1\" failures=\"0\" errors=\"0\""));
  CHECK(contains(pass, "<testcase classname=\"p\" name=\"output\" time=\"0.000\"/>"));
  const std::string fail = junit_xml({case_of("f", Verdict::fail, 3)});
  CHECK(contains(fail, "tests=\"1\" failures=\"1\" errors=\"0\""));
  CHECK(contains(fail,
                 "<failure type=\"violation\" message=\"3 of 4 elements violate atol 0, rtol 0, "
                 "certainly beyond the stated tolerance: batch &#60;0&#62;\">"));
  const std::string open = junit_xml({case_of("u", Verdict::undecided, 0)});
  CHECK(contains(open, "tests=\"1\" failures=\"0\" errors=\"1\""));
  CHECK(contains(open,
                 "<error type=\"undecided\" message=\"2 of 4 elements are open: their "
                 "errors are too near to what is allowed\">"));
  AuditCase unread;
  unread.path = "x";
  unread.error = "x: cut off";
  unread.error_code = "npy.truncated";
  CHECK(contains(junit_xml({unread}),
                 "<error type=\"npy.truncated\" message=\"x: cut off [npy.truncated]\">"));
  CHECK(contains(junit_xml({}), "<error type=\"nothing\" message=\"nothing was audited\">"));
}
