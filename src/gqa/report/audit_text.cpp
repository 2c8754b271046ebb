#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "gqa/report/audit_report.hpp"
#include "gqa/report/diagnosis_report.hpp"

namespace gqa {
namespace {

// 0.496, 12.3, 1.2e+06: three figures, the certified upper end.
std::string figure(double value) {
  return fmt::format("{:.3g}", value);
}

std::string sizes(const AuditCase& entry) {
  const Dimensions& d = entry.dimensions;
  return fmt::format("B={} Hq={} Hkv={} T={} S={} dk={} dv={}, {}", d.batch, d.q_heads, d.kv_heads,
                     d.queries, d.keys, d.key_size, d.value_size, entry.element_type);
}

std::string decided(const AuditTally& tally) {
  std::vector<std::string> parts;
  const auto add = [&parts](std::int64_t count, const char* by) {
    if (count > 0) parts.push_back(fmt::format("{} {}", count, by));
  };
  add(tally.decided_by_filter, "by the filter");
  add(tally.decided_by_enclosure, "by enclosures");
  add(tally.decided_exactly, "exactly");
  add(tally.undecided, "undecided");
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

// What the element should be, and how far it is from that if both are numbers.
std::string expectation(const WorstElement& worst) {
  const Bounds& reference = worst.reference;
  if (std::isnan(reference.lower)) return "the contract demands NaN";
  if (std::isinf(reference.lower) && reference.lower == reference.upper) {
    return fmt::format("the contract demands {}", reference.lower);
  }
  const std::string range =
      fmt::format("the exact value lies in [{:.9g}, {:.9g}]", reference.lower, reference.upper);
  // From NaN or infinity there is no distance.
  if (!worst.is_measured()) return range;
  return fmt::format("{}: {} ulp", range, figure(worst.ulp_error.upper));
}

std::string worst_line(const WorstElement& worst) {
  return fmt::format("    [{}, {}, {}, {}] is {:.9g}; {}\n", worst.index[0], worst.index[1],
                     worst.index[2], worst.index[3], worst.output, expectation(worst));
}

std::string violations_text(const AuditResult& result) {
  const AuditTally& tally = result.tally;
  if (tally.violations == 0) return "";
  std::string text = fmt::format(
      "    {} violations, {}: {}\n", tally.violations,
      result.strength == FailureStrength::proved ? "proved" : "beyond what rounding makes likely",
      result.where);
  for (std::size_t i = 0; i < std::min<std::size_t>(3, tally.worst.size()); ++i) {
    // Violations come first; what is within the tolerance, or open, is none.
    if (tally.worst[i].within.certainly_not()) text += worst_line(tally.worst[i]);
  }
  return text;
}

// An output beside `output`: one line, and what is wrong with it.
std::string output_text(const OutputAudit& output) {
  const AuditTally& tally = output.result.tally;
  return fmt::format("    {}: {}, {} elements ({})\n", output.name, name(output.result.verdict),
                     tally.elements, decided(tally)) +
         violations_text(output.result);
}

// Which model explains the output, where none was named and the tightest did not: a finding.
std::string model_line(const AuditCase& entry) {
  const auto* model = std::get_if<ModelTolerance>(&entry.tolerance);
  if (model == nullptr || model->tighter().empty()) return "";
  if (entry.verdict != Verdict::pass) {
    return fmt::format("    no precision model for these types explains the output: tried {}\n",
                       model_list(model->tried));
  }
  const std::string tighter = model_list(model->tighter());
  return fmt::format(
      "    finding: the rounding of {0} explains the output, that of {1} does not\n"
      "        this does not fail: no model was named, and a kernel that computes in {0} is right\n"
      "        if yours computes in {1}, name that model: then it alone decides\n",
      model->model->name, tighter);
}

// A pass on a sample says nothing of the rows beside it.
std::string sample_line(const AuditCase& entry) {
  if (!entry.sample) return "";
  return fmt::format("    {} on {}: the other rows were not audited\n", name(entry.verdict),
                     describe(*entry.sample));
}

// " (tried before: f16-f32)".
std::string tighter_models(const ModelTolerance& tolerance) {
  if (tolerance.tighter().empty()) return "";
  return fmt::format(" (tried before: {})", model_list(tolerance.tighter()));
}

// The bound of a gradient is a theorem and wide; where it allows anything, nothing is judged.
std::string gradient_lines(const AuditCase& entry) {
  const auto* model = std::get_if<ModelTolerance>(&entry.tolerance);
  if (model == nullptr) return "";
  bool any = false;
  std::int64_t open = 0;
  for (const OutputAudit& output : entry.outputs) {
    if (!is_gradient(output.name)) continue;
    any = true;
    open += output.result.tally.undecided - output.result.tally.not_finite_references;
  }
  if (!any) return "";
  std::string text = "    gradients are judged by the worst case of the model alone\n";
  if (open > 0) {
    text += fmt::format(
        "    {} elements of gradients are open: the worst case of {} bounds nothing there; state a "
        "tolerance, or the model in which the kernel computes{}\n",
        open, model->model->name, tighter_models(*model));
  }
  return text;
}

// The first output, if it is not the usual one.
std::string first_name(const AuditCase& entry) {
  const bool usual = entry.outputs.empty() || entry.outputs.front().name == "output";
  return usual ? "" : entry.outputs.front().name + ": ";
}

}  // namespace

std::string case_text(const AuditCase& entry) {
  if (!entry.result) {
    return fmt::format("{:<10}{}\n    {} [{}]\n", name(entry.verdict), entry.path, entry.error,
                       entry.error_code);
  }
  const AuditTally& tally = entry.result->tally;
  std::string text = fmt::format("{:<10}{}\n", name(entry.verdict), entry.path);
  text +=
      fmt::format("    {}; {}{}\n", sizes(entry),
                  describe(entry.contract, entry.dimensions.key_size), describe(entry.operands));
  text += fmt::format("    {}{} elements ({}) against {}\n", first_name(entry), tally.elements,
                      decided(tally), describe(entry.tolerance));
  text += fmt::format("    largest certified error {} ulp ({} absolute), mean {} ulp\n",
                      figure(tally.max_ulp_error.upper), figure(tally.max_absolute_error.upper),
                      figure(tally.mean_ulp()));
  text += sample_line(entry);
  text += model_line(entry);
  if (tally.not_finite_references > 0) {
    text += fmt::format("    {} elements read NaN or infinity: the contract gives no number\n",
                        tally.not_finite_references);
  }
  text += violations_text(*entry.result);
  for (std::size_t i = 1; i < entry.outputs.size(); ++i) text += output_text(entry.outputs[i]);
  text += gradient_lines(entry);
  if (entry.diagnosis) text += diagnosis_text(*entry.diagnosis, "    ");
  return text;
}

std::string assertion_text(const AuditCase& entry) {
  std::string text;
  if (entry.verdict == Verdict::fail && entry.diagnosis) {
    std::string tensor;
    for (const Explanation& explanation : entry.diagnosis->explanations) {
      const bool again = explanation.tensor == tensor;
      text += text.empty() ? "attention is wrong: " : again ? "or just as well: " : "and: ";
      text += explanation.describe();
      text += fmt::format("\n  {}\n", explanation.sentence());
      tensor = explanation.tensor;
    }
    for (const TensorAccount& account : entry.diagnosis->tensors) {
      if (account.status == DiagnosisStatus::rounding ||
          (account.status == DiagnosisStatus::unexplained && !text.empty())) {
        text += fmt::format("{}{}\n",
                            text.empty() ? "attention is wrong: " : "and: ", account.sentence);
      }
    }
  }
  if (text.empty() && entry.verdict == Verdict::fail) {
    text = "attention is wrong, and no known fault explains it\n";
  } else if (text.empty() && entry.verdict != Verdict::pass) {
    text = "attention was not verified\n";
  }
  return text + case_text(entry);
}

std::string describe(const SampledRows& sample) {
  return fmt::format("a sample of {} of {} rows (seed {})", sample.rows, sample.of, sample.seed);
}

bool is_sampled(std::string_view output) {
  return !output.starts_with("present_") && !is_gradient(output);
}

bool is_gradient(std::string_view output) {
  return output.starts_with("grad_");
}

AuditSummary summarise(const std::vector<AuditCase>& cases) {
  AuditSummary summary;
  for (const AuditCase& entry : cases) {
    switch (entry.verdict) {
      case Verdict::pass:
        ++summary.pass;
        break;
      case Verdict::fail:
        ++summary.fail;
        break;
      case Verdict::undecided:
        ++summary.undecided;
        break;
      case Verdict::error:
        ++summary.error;
        break;
    }
  }
  return summary;
}

std::string audit_text(const std::vector<AuditCase>& cases) {
  std::string text;
  for (const AuditCase& entry : cases) text += case_text(entry);
  const AuditSummary s = summarise(cases);
  const bool sampled =
      std::ranges::any_of(cases, [](const AuditCase& entry) { return entry.sample.has_value(); });
  text += fmt::format("{} of {} passed{}", s.pass, cases.size(), sampled ? " on samples" : "");
  if (s.fail > 0) text += fmt::format(", {} failed", s.fail);
  if (s.undecided > 0) text += fmt::format(", {} undecided", s.undecided);
  if (s.error > 0) text += fmt::format(", {} could not be read", s.error);
  return text + "\n";
}

}  // namespace gqa
