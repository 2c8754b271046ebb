#include "gqa/report/junit.hpp"

#include <fmt/format.h>

#include "gqa/report/diagnosis_report.hpp"
#include "gqa/report/verdict_words.hpp"
#include "gqa/version.hpp"

namespace gqa {
namespace {

struct TestCase {
  std::string path;
  std::string name;
  std::string outcome;  ///< "", "failure" or "error"
  std::string message;
  std::string details;
};

std::string worst_lines(const OutputAudit& output) {
  std::string text;
  for (const WorstElement& worst : output.result.tally.worst) {
    text += element_text(output.name, worst) + "\n";
  }
  return text;
}

// A diagnosis is of `output` if that fails, and otherwise of the gradients.
bool is_diagnosed(const AuditCase& entry, std::string_view output) {
  return std::ranges::find(entry.diagnosis->tensors, output, &TensorAccount::tensor) !=
         entry.diagnosis->tensors.end();
}

TestCase test_case(const AuditCase& entry, const OutputAudit& output) {
  const AuditTally& tally = output.result.tally;
  TestCase result{entry.path, output.name, "", "", ""};
  // In the name, so that nobody takes a pass for one on all rows.
  if (entry.sample && is_sampled(output.name)) {
    result.name += fmt::format(" ({})", describe(*entry.sample));
  }
  if (output.result.verdict == Verdict::pass) return result;
  result.details = worst_lines(output);
  if (output.result.verdict == Verdict::fail) {
    result.outcome = "failure";
    result.message =
        fmt::format("{} of {} elements violate {}, {}: {}", tally.violations, tally.elements,
                    describe(output.tolerance),
                    strength_text(output.result.strength, output.tolerance), output.result.where);
    const std::string undeclared = undeclared_text(output);
    if (!undeclared.empty()) result.message += "; " + undeclared;
    if (entry.diagnosis && is_diagnosed(entry, output.name)) {
      for (const Explanation& explanation : entry.diagnosis->explanations) {
        if (explanation.tensor != output.name) continue;
        const bool is_named = !explanation.faults.empty() && explanation.region.is_everywhere();
        result.message +=
            fmt::format("; {}", is_named ? explanation.describe() : explanation.sentence());
      }
      result.details += diagnosis_text(*entry.diagnosis, "");
    }
  } else {
    result.outcome = "error";
    result.message = output.result.shows_nothing ? nothing_shown_text(output)
                                                 : fmt::format("{}: {} of {} elements are open",
                                                               name(output.result.verdict),
                                                               tally.undecided, tally.elements);
  }
  return result;
}

std::vector<TestCase> test_cases(const std::vector<AuditCase>& cases) {
  std::vector<TestCase> result;
  for (const AuditCase& entry : cases) {
    for (const OutputAudit& output : entry.outputs) result.push_back(test_case(entry, output));
    if (entry.outputs.empty()) {
      result.push_back({entry.path, "audit", entry.verdict == Verdict::fail ? "failure" : "error",
                        fmt::format("{} [{}]", entry.error, entry.error_code), ""});
    }
  }
  if (result.empty()) result.push_back({"gqaverify", "audit", "error", "nothing was audited", ""});
  return result;
}

std::string element(const TestCase& test) {
  const std::string start = fmt::format("    <testcase classname=\"{}\" name=\"{}\"",
                                        xml_escaped(test.path), xml_escaped(test.name));
  if (test.outcome.empty()) return start + "/>\n";
  return fmt::format("{0}>\n      <{1} message=\"{2}\">{3}</{1}>\n    </testcase>\n", start,
                     test.outcome, xml_escaped(test.message), xml_escaped(test.details));
}

}  // namespace

std::string junit_xml(const std::vector<AuditCase>& cases) {
  const std::vector<TestCase> tests = test_cases(cases);
  std::size_t failures = 0;
  std::size_t errors = 0;
  std::string body;
  for (const TestCase& test : tests) {
    if (test.outcome == "failure") ++failures;
    if (test.outcome == "error") ++errors;
    body += element(test);
  }
  const std::string counts =
      fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\"", tests.size(), failures, errors);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites name=\"gqaverify\" {0}>\n"
      "  <testsuite name=\"gqaverify {1} audit\" {0}>\n{2}  </testsuite>\n</testsuites>\n",
      counts, version, body);
}

}  // namespace gqa
