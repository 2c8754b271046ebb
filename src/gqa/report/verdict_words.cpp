#include "gqa/report/verdict_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstdlib>
#include <vector>

namespace gqa {
namespace {

// The text of three figures on that side of the value.
std::string three_figures(double value, bool up) {
  if (!std::isfinite(value) || value == 0) return fmt::format("{:.3g}", value);
  const double step = std::pow(10.0, std::floor(std::log10(std::abs(value))) - 2);
  double candidate = value;
  for (int tries = 0; tries < 4; ++tries) {
    std::string text = fmt::format("{:.3g}", candidate);
    const double shown = std::strtod(text.c_str(), nullptr);
    if (up ? shown >= value : shown <= value) return text;
    candidate += up ? step / 2 : -step / 2;
  }
  return fmt::format("{:.17g}", value);
}

struct AxisNames {
  const char* head = "head";
  const char* row = "row";
  const char* column = "column";
};

AxisNames axis_names(std::string_view output) {
  if (output.starts_with("present_") || output == "grad_key" || output == "grad_value") {
    return {"KV head", "key", "column"};
  }
  if (output == "qk_matmul_output") return {"head", "row", "key"};
  if (output == "lse") return {"head", "row", nullptr};
  return {};
}

// Nine figures hold every binary32 number; more would hide where two differ.
std::string value_text(double value) {
  return fmt::format("{:.9g}", value);
}

// "exact 0.25", or both ends where they differ in what is shown.
std::string exact_text(const Bounds& reference) {
  const std::string lower = value_text(reference.lower);
  const std::string upper = value_text(reference.upper);
  if (lower == upper) return fmt::format("exact {}", lower);
  return fmt::format("exact between {} and {}", lower, upper);
}

std::string list_of(const std::vector<NullOutput>& nulls) {
  std::vector<std::string> names;
  for (const NullOutput null : nulls) names.push_back(name(null));
  if (names.size() == 1) return names.front();
  const std::string last = names.back();
  names.pop_back();
  return fmt::format("{} or {}", fmt::join(names, ", "), last);
}

}  // namespace

std::string rounded_up(double value) {
  return three_figures(value, true);
}

std::string rounded_down(double value) {
  return three_figures(value, false);
}

std::string counted_words(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string place_text(std::string_view output, const std::array<std::int64_t, 4>& index) {
  const AxisNames names = axis_names(output);
  std::string text =
      fmt::format("batch {}, {} {}, {} {}", index[0], names.head, index[1], names.row, index[2]);
  if (names.column != nullptr) text += fmt::format(", {} {}", names.column, index[3]);
  return text;
}

std::string element_text(std::string_view output, const WorstElement& element) {
  std::string text =
      fmt::format("{}: got {}, ", place_text(output, element.index), value_text(element.output));
  const Bounds& reference = element.reference;
  if (std::isnan(reference.lower)) return text + "the contract demands NaN";
  if (std::isinf(reference.lower) && reference.lower == reference.upper) {
    return text + fmt::format("the contract demands {}", reference.lower);
  }
  text += exact_text(reference);
  // From NaN or infinity there is no distance.
  if (!element.is_measured()) return text;
  text += fmt::format(", off by {}", rounded_up(element.absolute_error.upper));
  if (std::isfinite(element.allowed.upper)) {
    text += fmt::format(", allowed {}", rounded_up(element.allowed.upper));
  }
  return text;
}

std::string strength_text(FailureStrength strength, const Tolerance& tolerance) {
  const auto* model = std::get_if<ModelTolerance>(&tolerance);
  if (model == nullptr) return "certainly beyond the stated tolerance";
  const std::string names =
      model->tried.empty() ? std::string(model->model->name) : model_list(model->tried);
  if (strength == FailureStrength::proved) {
    return fmt::format("proved: beyond the worst case of {}", names);
  }
  return fmt::format("beyond what the rounding of {} makes likely", names);
}

std::string share_text(const AuditTally& tally) {
  const double percent = 100 * tally.max_share;
  if (!std::isfinite(percent) || tally.elements == 0) return "";
  if (percent == 0) return "no error at all";
  // Known from above alone: next to nothing is left to say.
  if (percent > 95) return "within what is allowed everywhere";
  if (percent < 1) return "less than 1 % of what is allowed";
  return fmt::format("at most {:.0f} % of what is allowed", std::ceil(percent));
}

std::string shown_text(const AuditTally& tally) {
  const NullCounts& nulls = tally.nulls;
  if (nulls.rows == 0) return "";
  // Rows of which it was not asked, because others had shown it, count as passing.
  const bool is_all = nulls.refuted_in(NullOutput::zeros) == nulls.rows;
  return fmt::format(
      "zeros would fail in {5}{0} of {4}, the negated output in {1}, the doubled in "
      "{2}, the halved in {3}",
      nulls.refuted_in(NullOutput::zeros), nulls.refuted_in(NullOutput::negated),
      nulls.refuted_in(NullOutput::doubled), nulls.refuted_in(NullOutput::halved),
      counted_words(nulls.rows, "row"), is_all ? "" : "at least ");
}

std::string nothing_shown_text(const OutputAudit& output) {
  const AuditResult& result = output.result;
  const bool all_within = result.verdict == Verdict::pass || result.shows_nothing;
  const std::vector<NullOutput> passing = result.tally.nulls.passing();
  if (!all_within || passing.empty()) return "";
  if (const auto* model = std::get_if<ModelTolerance>(&output.tolerance)) {
    if (!result.shows_nothing) {
      return fmt::format("finding: the halved {} would pass under {}, too", output.name,
                         model->model->name);
    }
    return fmt::format(
        "undecided, because {} in place of {} would be within what the rounding of "
        "{} explains, too: this pass would show nothing",
        list_of(passing), output.name, model->model->name);
  }
  return fmt::format("finding: under {} {} in place of {} would pass, too",
                     describe(output.tolerance), list_of(passing), output.name);
}

std::string undeclared_text(const OutputAudit& output) {
  if (output.explained_by == nullptr) return "";
  return fmt::format(
      "finding: the rounding of {0} would explain {1}; it fails because nobody "
      "declared that: if the kernel computes so, state the model {0}",
      output.explained_by->name, output.name);
}

}  // namespace gqa
