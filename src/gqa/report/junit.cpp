#include "gqa/report/junit.hpp"

#include <fmt/format.h>

#include "gqa/report/diagnosis_report.hpp"
#include "gqa/report/identified_report.hpp"
#include "gqa/report/verdict_words.hpp"
#include "gqa/version.hpp"

namespace gqa {
namespace {

struct TestCase {
  std::string path;
  std::string name;
  double seconds = 0;
  std::string outcome;  ///< "", "failure" or "error"
  std::string type;     ///< of what: the fault's name, or a code
  std::string message;
  std::string details;
};

std::string all_worst_lines(const OutputAudit& output) {
  std::string text;
  for (const WorstElement& worst : output.result.tally.worst) {
    text += element_text(output.name, worst) + "\n";
  }
  return text;
}

// The explanations of an output, in the order of the diagnosis.
std::vector<const Explanation*> explanations_of(const AuditCase& entry, std::string_view output) {
  std::vector<const Explanation*> found;
  if (!entry.diagnosis) return found;
  for (const Explanation& explanation : entry.diagnosis->explanations) {
    if (explanation.tensor == output) found.push_back(&explanation);
  }
  return found;
}

// A diagnosis is of `output` if that fails, and otherwise of the gradients.
bool is_diagnosed(const AuditCase& entry, std::string_view output) {
  return entry.diagnosis &&
         std::ranges::find(entry.diagnosis->tensors, output, &TensorAccount::tensor) !=
             entry.diagnosis->tensors.end();
}

// "head_map.tiled", with a "+" between faults that are wrong together.
std::string failure_type(const std::vector<const Explanation*>& explanations) {
  if (explanations.empty() || explanations.front()->faults.empty()) return "violation";
  std::string type;
  for (const Fault& fault : explanations.front()->faults) {
    type += (type.empty() ? "" : "+") + std::string(fault.kind->slug);
  }
  return type;
}

// In order of use: what is wrong, where, what to try, how sure it is.
void tell_failure(TestCase& test, const AuditCase& entry, const OutputAudit& output) {
  const AuditTally& tally = output.result.tally;
  const auto explanations = explanations_of(entry, output.name);
  test.outcome = "failure";
  test.type = failure_type(explanations);
  for (const Explanation* explanation : explanations) {
    const bool is_named = !explanation->faults.empty() && explanation->region.is_everywhere();
    test.message +=
        fmt::format("{}; ", is_named ? explanation->describe() : explanation->sentence());
  }
  test.message +=
      fmt::format("{} of {} violate {}, {}: {}", tally.violations,
                  counted_words(tally.elements, "element"), describe(output.tolerance),
                  strength_text(output.result.strength, output.tolerance), output.result.where);
  const std::string fit = entry.fits && output.name == "output" ? fit_line(*entry.fits) : "";
  for (const std::string& more : {fit, undeclared_text(output)}) {
    if (!more.empty()) test.message += "; " + more;
  }
  if (is_diagnosed(entry, output.name)) test.details = diagnosis_text(*entry.diagnosis, "");
  test.details += all_worst_lines(output);
}

TestCase test_case(const AuditCase& entry, const OutputAudit& output) {
  TestCase result{entry.path, output.name, 0, "", "", "", ""};
  // In the name, so that nobody takes a pass for one on all rows.
  if (entry.sample && is_sampled(output.name)) {
    result.name += fmt::format(" ({})", describe(*entry.sample));
  }
  if (output.result.verdict == Verdict::pass) return result;
  if (output.result.verdict == Verdict::fail) {
    tell_failure(result, entry, output);
    return result;
  }
  result.outcome = "error";
  result.type = name(output.result.verdict);
  result.message = open_text(entry, output);
  result.details = all_worst_lines(output);
  return result;
}

std::vector<TestCase> test_cases(const std::vector<AuditCase>& cases) {
  std::vector<TestCase> result;
  for (const AuditCase& entry : cases) {
    for (const OutputAudit& output : entry.outputs) result.push_back(test_case(entry, output));
    // The outputs of a case are audited together: the first has the time of all.
    if (!entry.outputs.empty())
      result[result.size() - entry.outputs.size()].seconds = entry.seconds;
    if (entry.outputs.empty()) {
      result.push_back({entry.path, "audit", entry.seconds,
                        entry.verdict == Verdict::fail ? "failure" : "error", entry.error_code,
                        fmt::format("{} [{}]", entry.error, entry.error_code), ""});
    }
  }
  if (result.empty()) {
    result.push_back({"gqaverify", "audit", 0, "error", "nothing", "nothing was audited", ""});
  }
  return result;
}

std::string element(const TestCase& test) {
  const std::string start =
      fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\"",
                  xml_escaped(test.path), xml_escaped(test.name), test.seconds);
  if (test.outcome.empty()) return start + "/>\n";
  return fmt::format("{0}>\n      <{1} type=\"{2}\" message=\"{3}\">{4}</{1}>\n    </testcase>\n",
                     start, test.outcome, xml_escaped(test.type), xml_escaped(test.message),
                     xml_escaped(test.details));
}

}  // namespace

std::string junit_xml(const std::vector<AuditCase>& cases) {
  const std::vector<TestCase> tests = test_cases(cases);
  std::size_t failures = 0;
  std::size_t errors = 0;
  double seconds = 0;
  std::string body;
  for (const TestCase& test : tests) {
    seconds += test.seconds;
    if (test.outcome == "failure") ++failures;
    if (test.outcome == "error") ++errors;
    body += element(test);
  }
  const std::string counts =
      fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"{:.3f}\"", tests.size(),
                  failures, errors, seconds);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites name=\"gqaverify\" {0}>\n"
      "  <testsuite name=\"gqaverify {1} audit\" {0}>\n{2}  </testsuite>\n</testsuites>\n",
      counts, version, body);
}

}  // namespace gqa
