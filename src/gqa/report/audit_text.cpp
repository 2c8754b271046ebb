#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "gqa/printable.hpp"
#include "gqa/report/audit_report.hpp"
#include "gqa/report/diagnosis_report.hpp"
#include "gqa/report/identified_report.hpp"
#include "gqa/report/verdict_words.hpp"

namespace gqa {
namespace {

// 0.496, 12.3, 1.2e+06: three figures.
std::string figure(double value) {
  return fmt::format("{:.3g}", value);
}

// "bfloat16", or "bfloat16 in, binary32 out".
std::string types(const AuditCase& entry) {
  if (entry.input_type.empty() || entry.input_type == entry.element_type) return entry.element_type;
  return fmt::format("{} in, {} out", entry.input_type, entry.element_type);
}

std::string sizes(const AuditCase& entry) {
  const Dimensions& d = entry.dimensions;
  return fmt::format("B={} Hq={} Hkv={} T={} S={} dk={} dv={}, {}", d.batch, d.q_heads, d.kv_heads,
                     d.queries, d.keys, d.key_size, d.value_size, types(entry));
}

// Beyond a million, ulp say only that the reference is small or the output unrelated.
std::string ulp_text(double ulps) {
  constexpr double most = 1e6;
  return ulps > most ? "over 1e+06 ulp" : fmt::format("{} ulp", rounded_up(ulps));
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

std::string violations_line(const OutputAudit& output) {
  const AuditTally& tally = output.result.tally;
  if (tally.violations == 0) return "";
  return fmt::format("    {}, {}: {}\n", counted_words(tally.violations, "violation"),
                     strength_text(output.result.strength, output.tolerance), output.result.where);
}

std::string worst_lines(const OutputAudit& output) {
  const AuditTally& tally = output.result.tally;
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, tally.worst.size()); ++i) {
    // Violations come first; what is within the tolerance, or open, is none.
    if (!tally.worst[i].within.certainly_not()) continue;
    text += fmt::format("    {}\n", element_text(output.name, tally.worst[i]));
  }
  return text;
}

std::string line(const std::string& text) {
  return text.empty() ? "" : fmt::format("    {}\n", text);
}

// What an output has shown, or why it shows nothing, and what else could explain it.
std::string meaning_text(const OutputAudit& output) {
  std::string text = line(nothing_shown_text(output));
  // Of a copy every other bit would fail.
  const bool is_copy = output.name.starts_with("present_");
  if (text.empty() && output.result.verdict == Verdict::pass && !is_copy) {
    text = line(shown_text(output.result.tally));
  }
  return text + line(undeclared_text(output));
}

// Which model explains an output, where none was named and the tightest did not: a finding.
std::string model_line(const OutputAudit& output) {
  const auto* model = std::get_if<ModelTolerance>(&output.tolerance);
  if (model == nullptr || model->tried.size() < 2) return "";
  if (output.result.verdict != Verdict::pass) {
    return fmt::format("    no precision model for these types explains {}: tried {}\n",
                       output.name, model_list(model->tried));
  }
  return fmt::format(
      "    finding: the rounding of {0} explains {2}, that of {1} does not\n"
      "        this does not fail: no model was named, and a kernel that computes in {0} is right\n"
      "        if yours computes in {1}, name that model: then it alone decides\n",
      model->model->name, model_list(model->tighter()), output.name);
}

// An output beside `output`: one line, and what is wrong with it.
std::string output_text(const OutputAudit& output) {
  const AuditTally& tally = output.result.tally;
  return fmt::format("    {}: {}, {} ({})\n", output.name, name(output.result.verdict),
                     counted_words(tally.elements, "element"), decided(tally)) +
         model_line(output) + violations_line(output) + worst_lines(output) + meaning_text(output);
}

// A pass on a sample says nothing of the rows beside it.
std::string sample_line(const AuditCase& entry) {
  if (!entry.sample) return "";
  return fmt::format("    {} on {}: the other rows were not audited\n", name(entry.verdict),
                     describe(*entry.sample));
}

// The share of the allowance first; the others are certified to be the largest of any element each.
std::string largest_error_line(const AuditTally& tally) {
  std::string share = tally.violations > 0 ? "" : share_text(tally);
  if (!share.empty()) share += "; ";
  return fmt::format("    largest errors: {}{}, {} absolute; mean {}\n", share,
                     ulp_text(tally.max_ulp_error.upper),
                     rounded_up(tally.max_absolute_error.upper),
                     tally.mean_ulp() > 1e6 ? ulp_text(tally.mean_ulp())
                                            : fmt::format("{} ulp", figure(tally.mean_ulp())));
}

// What makes elements undecidable: where the inputs are no numbers, and what can be done.
std::string not_finite_lines(const AuditCase& entry, const AuditTally& tally) {
  if (tally.not_finite_references == 0) return "";
  const bool is_one = tally.not_finite_references == 1;
  std::string text = fmt::format(
      "    {} NaN or infinity: the contract gives no number\n",
      counted_words(tally.not_finite_references, "element") + (is_one ? " reads" : " read"));
  for (const std::string& input : entry.not_finite) text += fmt::format("    {}\n", input);
  return text;
}

// The first output, if it is not the usual one.
std::string first_name(const AuditCase& entry) {
  const bool usual = entry.outputs.empty() || entry.outputs.front().name == "output";
  return usual ? "" : entry.outputs.front().name + ": ";
}

}  // namespace

std::string lse_fit_flags(const AuditCase& entry) {
  if (!entry.lse_fits) return "";
  const LseForm& declared = entry.contract.lse;
  std::string flags;
  if (entry.lse_fits->base != declared.base) {
    flags += fmt::format(" --lse-base {}", name(entry.lse_fits->base));
  }
  if (entry.lse_fits->empty != declared.empty) {
    flags += fmt::format(" --lse-empty {}", name(entry.lse_fits->empty));
  }
  return flags.empty() ? "" : flags.substr(1);
}

OutputAudit first_output(const AuditCase& entry) {
  const bool is_known = !entry.outputs.empty();
  return {is_known ? entry.outputs.front().name : "output", *entry.result, entry.tolerance,
          is_known ? entry.outputs.front().explained_by : nullptr};
}

std::string case_text(const AuditCase& entry) {
  if (!entry.result) {
    return fmt::format("{:<10}{}\n    {} [{}]\n", name(entry.verdict), printable_line(entry.path),
                       entry.error, entry.error_code);
  }
  const OutputAudit first = first_output(entry);
  const AuditTally& tally = first.result.tally;
  const std::string diagnosis = entry.diagnosis ? diagnosis_text(*entry.diagnosis, "    ") : "";
  std::string text = fmt::format("{:<10}{}\n", name(entry.verdict), printable_line(entry.path));
  text += sample_line(entry);
  // Of a failure what is wrong, where, and what to try; of a pass what it took and shows.
  if (entry.verdict == Verdict::fail) {
    text += diagnosis + violations_line(first);
    if (entry.fits) text += line(fit_line(*entry.fits));
    if (entry.lse_fits) text += line("lse fits with " + lse_fit_flags(entry));
    text += worst_lines(first) + not_finite_lines(entry, tally) + model_line(first) +
            meaning_text(first);
  } else {
    text += not_finite_lines(entry, tally) + largest_error_line(tally) + model_line(first) +
            meaning_text(first) + diagnosis;
  }
  for (std::size_t i = 1; i < entry.outputs.size(); ++i) text += output_text(entry.outputs[i]);
  text += fmt::format("    {}{} ({}) against {}\n", first_name(entry),
                      counted_words(tally.elements, "element"), decided(tally),
                      describe(entry.tolerance));
  if (entry.verdict == Verdict::fail) text += largest_error_line(tally);
  return text + fmt::format("    {}; {}{}\n", sizes(entry),
                            describe(entry.contract, entry.dimensions.key_size),
                            describe(entry.operands));
}

std::string headline(const AuditCase& entry) {
  if (!entry.result) return fmt::format("{} [{}]", entry.error, entry.error_code);
  if (entry.diagnosis && !entry.diagnosis->explanations.empty()) {
    const Explanation& explanation = entry.diagnosis->explanations.front();
    return explanation.faults.empty() ? explanation.sentence() : explanation.describe();
  }
  for (const OutputAudit& output : entry.outputs) {
    if (output.result.verdict != entry.verdict) continue;
    if (output.result.verdict == Verdict::fail && output.result.tally.violations > 0) {
      return fmt::format("{} in {}, {}", counted_words(output.result.tally.violations, "violation"),
                         output.name, output.result.where);
    }
    const std::string reason = open_text(entry, output);
    if (!reason.empty()) return reason;
  }
  return share_text(entry.result->tally);
}

std::string open_text(const AuditCase& entry, const OutputAudit& output) {
  if (output.result.verdict != Verdict::undecided) return "";
  if (output.result.shows_nothing) return nothing_shown_text(output);
  const AuditTally& tally = output.result.tally;
  if (tally.not_finite_references == 0) {
    return fmt::format("{} of {} are open: their errors are too near to what is allowed",
                       tally.undecided, counted_words(tally.elements, "element"));
  }
  std::string text = fmt::format("{} of {} are open: they read NaN or infinity", tally.undecided,
                                 counted_words(tally.elements, "element"));
  for (const std::string& input : entry.not_finite) text += "; " + input;
  return text;
}

std::string assertion_text(const AuditCase& entry) {
  std::string text;
  if (entry.verdict == Verdict::fail && entry.diagnosis) {
    std::string tensor;
    for (const Explanation& explanation : entry.diagnosis->explanations) {
      const bool again = explanation.tensor == tensor;
      text += text.empty() ? "attention is wrong: " : again ? "or just as well: " : "and: ";
      const bool is_place = explanation.faults.empty();
      text += is_place ? explanation.sentence() + "\n"
                       : fmt::format("{}\n  {}\n", explanation.describe(), explanation.sentence());
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

}  // namespace gqa
