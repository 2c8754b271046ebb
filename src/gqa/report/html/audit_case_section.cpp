#include "gqa/report/html/audit_case_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "gqa/report/html/number_text.hpp"
#include "gqa/report/html/page.hpp"
#include "gqa/report/html/pictures.hpp"
#include "gqa/report/html/sections.hpp"
#include "gqa/report/html/table.hpp"
#include "gqa/report/identified_report.hpp"
#include "gqa/report/verdict_words.hpp"

namespace gqa::html {
namespace {

std::string decided(const AuditTally& tally) {
  std::string text;
  const auto add = [&text](std::int64_t count, const char* by) {
    if (count > 0) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", grouped(count), by);
    }
  };
  add(tally.decided_by_filter, "by the filter");
  add(tally.decided_by_enclosure, "by enclosures");
  add(tally.decided_exactly, "exactly");
  add(tally.undecided, "undecided");
  return text;
}

std::string model_text(const AuditCase& entry) {
  const auto* model = std::get_if<ModelTolerance>(&entry.tolerance);
  if (model == nullptr || model->tried.size() < 2) return "";
  return entry.verdict == Verdict::pass
             ? ": the first of the file's precision models, tight to loose, that explains the "
               "output"
             : ": no precision model of the file's types explains the output";
}

std::string largest_errors(const AuditTally& tally) {
  const std::string share = tally.violations > 0 ? "" : share_text(tally);
  return fmt::format("{}{}{} ulp, {} absolute", share, share.empty() ? "" : "; ",
                     figure(tally.max_ulp_error.upper), figure(tally.max_absolute_error.upper));
}

Markup figures(const AuditCase& entry) {
  const AuditTally& tally = entry.result->tally;
  std::vector<std::pair<std::string, Markup>> pairs{
      {"Elements", text(fmt::format("{} of {}: {}", grouped(tally.elements), entry.element_type,
                                    decided(tally)))},
      {"Tolerance", text(describe(entry.tolerance) + model_text(entry))},
      {"Largest errors", text(largest_errors(tally))},
      {"Mean error", text(figure(tally.mean_ulp()) + " ulp")}};
  const OutputAudit first = first_output(entry);
  if (tally.violations > 0) {
    pairs.emplace_back("Violations",
                       text(fmt::format("{}, {}: {}", grouped(tally.violations),
                                        strength_text(first.result.strength, first.tolerance),
                                        first.result.where)));
  }
  const auto add = [&pairs](const char* name, const std::string& words) {
    if (!words.empty()) pairs.emplace_back(name, text(words));
  };
  add("Shows", shown_text(tally));
  add("But", nothing_shown_text(first));
  add("Undeclared", undeclared_text(first));
  if (tally.not_finite_references > 0) {
    pairs.emplace_back("No number", text(counted(tally.not_finite_references, "element") +
                                         " read NaN or infinity: the contract gives no number"));
  }
  if (entry.sample) {
    pairs.emplace_back("Sample",
                       text(describe(*entry.sample) + ": the other rows were not audited"));
  }
  return definitions(pairs);
}

HeatAxes axes_of(const AuditCase& entry, const std::string& output) {
  if (output == "grad_key" || output == "grad_value") {
    return {entry.dimensions.kv_heads, "KV head", "key", "key"};
  }
  return {.heads = entry.dimensions.q_heads};
}

const ElementBounds* bounds_at(const AuditCase& entry, const WorstElement& worst) {
  if (!entry.pictures) return nullptr;
  const auto& bounds = entry.pictures->bounds;
  const auto found = std::ranges::lower_bound(bounds, worst.index, {}, &ElementBounds::index);
  return found != bounds.end() && found->index == worst.index ? &*found : nullptr;
}

Markup index_markup(const WorstElement& worst) {
  return element("span", "index",
                 text(fmt::format("[{}, {}, {}, {}]", worst.index[0], worst.index[1],
                                  worst.index[2], worst.index[3])));
}

std::string range_text(const Bounds& range) {
  const std::string lower = precise(range.lower);
  const std::string upper = precise(range.upper);
  return lower == upper ? lower : fmt::format("{} to {}", lower, upper);
}

// `has_bounds`: the case's bounds are those of this output.
Markup worst_table(const AuditCase& entry, const AuditTally& tally, const HeatAxes& axes,
                   bool has_bounds) {
  if (tally.worst.empty()) return {};
  const bool is_model = has_bounds && std::holds_alternative<ModelTolerance>(entry.tolerance);
  std::vector<Column> columns{{"Element [b, h, i, c]"},
                              {"Output", ColumnKind::number},
                              {"Exact value", ColumnKind::number},
                              {"Error, ulp", ColumnKind::number}};
  if (has_bounds) {
    columns.push_back({is_model ? "Likely, ulp" : "Allowed, ulp", ColumnKind::number});
  } else {
    columns.push_back({"Off by", ColumnKind::number});
    columns.push_back({"Allowed", ColumnKind::number});
  }
  if (is_model) columns.push_back({"At worst, ulp", ColumnKind::number});
  columns.push_back({"Within"});
  Table table(fmt::format("The worst elements: batch entry, {}, {}, column", axes.head, axes.row),
              columns);
  for (const WorstElement& worst : tally.worst) {
    const ElementBounds* bounds = has_bounds ? bounds_at(entry, worst) : nullptr;
    const bool measured = worst.ulp_error.upper > 0 || worst.within.certainly();
    std::vector<Markup> cells{index_markup(worst), text(precise(worst.output)),
                              text(range_text(worst.reference)),
                              text(measured ? figure(worst.ulp_error.upper) : "\u2013")};
    if (has_bounds) {
      cells.push_back(text(bounds != nullptr ? figure(bounds->allowed) : "\u2013"));
    } else {
      cells.push_back(text(worst.is_measured() ? figure(worst.absolute_error.upper) : "\u2013"));
      cells.push_back(text(figure(worst.allowed.upper)));
    }
    if (is_model) {
      cells.push_back(text(bounds != nullptr && bounds->worst ? figure(*bounds->worst) : "\u2013"));
    }
    cells.push_back(worst.within.certainly_not() ? badge(Standing::bad, "no")
                    : worst.within.certainly()   ? badge(Standing::good, "yes")
                                                 : badge(Standing::open, "open"));
    table.add_row(cells);
  }
  return table.markup();
}

Markup outputs_table(const AuditCase& entry) {
  if (entry.outputs.size() < 2) return {};
  Table table("Every audited output", {{"Output"},
                                       {"Verdict"},
                                       {"Elements", ColumnKind::number},
                                       {"Violations", ColumnKind::number},
                                       {"Largest error, ulp", ColumnKind::number},
                                       {"Where", ColumnKind::prose}});
  for (const OutputAudit& output : entry.outputs) {
    const AuditTally& tally = output.result.tally;
    table.add_row({code(output.name), badge(output.result.verdict), text(grouped(tally.elements)),
                   text(grouped(tally.violations)), text(figure(tally.max_ulp_error.upper)),
                   text(output.result.where)});
  }
  return heading(3, "Outputs") + table.markup();
}

// Where the errors of the other outputs lie, those that pass or the others; those of the first have
// a section of their own.
Markup other_maps(const std::string& id, const AuditCase& entry, bool with_parts, bool passing) {
  Markup content;
  for (std::size_t k = 1; k < entry.outputs.size(); ++k) {
    const OutputAudit& output = entry.outputs[k];
    const AuditTally& tally = output.result.tally;
    if (!tally.error_map.is_kept() || (output.result.verdict == Verdict::pass) != passing) continue;
    const std::string part = fmt::format("{}-output{}", id, k);
    content += heading(3, "Errors of " + output.name);
    content +=
        heat_map_picture(part + "-map", tally.error_map, axes_of(entry, output.name), with_parts);
    content += histogram_picture(part + "-histogram", tally.error_map, entry.tolerance, {},
                                 tally.elements);
    if (output.result.verdict != Verdict::pass) {
      content += worst_table(entry, tally, axes_of(entry, output.name), false);
    }
  }
  return content;
}

Markup pictures_of(const std::string& id, const AuditCase& entry) {
  if (!entry.pictures) return {};
  const AuditPictures& pictures = *entry.pictures;
  Markup content;
  if (pictures.heads) {
    content += heading(3, "Which KV head each query head reads");
    content += head_map_picture(id + "-heads", *pictures.heads, found_title(pictures.found_by));
  }
  if (pictures.visible_keys) {
    content += heading(3, "Which keys each row sees");
    content += visible_keys_picture(id + "-keys", *pictures.visible_keys, pictures.found_by);
  }
  return content;
}

Markup errors_of(const std::string& id, const AuditCase& entry, CaseDetail detail) {
  const bool with_parts = detail == CaseDetail::parts;
  const AuditTally& tally = entry.result->tally;
  const std::span<const ElementBounds> bounds =
      entry.pictures ? std::span<const ElementBounds>(entry.pictures->bounds)
                     : std::span<const ElementBounds>();
  const std::string first = entry.outputs.empty() ? "output" : entry.outputs[0].name;
  const HeatAxes axes = axes_of(entry, first);
  const Markup title = heading(3, entry.outputs.size() > 1 ? "Errors of " + first : "Errors");
  if (detail == CaseDetail::words) {
    const bool is_pass = entry.verdict == Verdict::pass;
    return title + figures(entry) +
           (is_pass ? Markup() : worst_table(entry, tally, axes, first == "output"));
  }
  const Markup own = title + figures(entry) +
                     heat_map_picture(id + "-map", tally.error_map, axes, with_parts) +
                     histogram_picture(id + "-histogram", tally.error_map, entry.tolerance, bounds,
                                       tally.elements) +
                     worst_table(entry, tally, axes, first == "output");
  const Markup wrong = other_maps(id, entry, with_parts, false);
  const bool is_right = entry.result->verdict == Verdict::pass;
  return (is_right ? wrong + own : own + wrong) + other_maps(id, entry, with_parts, true);
}

// Do the pictures show where the output reads something else than declared?
bool show_difference(const AuditCase& entry) {
  if (!entry.pictures) return false;
  const AuditPictures& pictures = *entry.pictures;
  const auto& keys = pictures.visible_keys;
  return (pictures.heads &&
          !(pictures.heads->found_key.empty() && pictures.heads->found_value.empty())) ||
         (keys &&
          std::ranges::count(keys->is_extra, 1) + std::ranges::count(keys->is_missing, 1) > 0);
}

}  // namespace

Markup what_to_try(const AuditCase& entry) {
  Markup content;
  if (entry.fits && entry.fits->fit == ContractFit::found) {
    Markup words = text("Try ") + code(entry.fits->flags_text());
    for (const std::string& flags : entry.fits->equivalents) {
      words += text(", or ") + (flags.empty() ? text("the declared contract") : code(flags));
    }
    content += element("p", words + text(": with that, this output fits."));
  } else if (entry.fits) {
    const std::string nearest = fit_line(*entry.fits);
    if (!nearest.empty()) content += paragraph(sentence(nearest));
  }
  const std::string flags = lse_fit_flags(entry);
  if (flags.empty()) return content;
  return content + element("p", text("Try ") + code(flags) + text(": with that, ") + code("lse") +
                                    text(" fits."));
}

Markup audit_case_section(const std::string& id, const AuditCase& entry, CaseDetail detail) {
  if (!entry.result) {
    return paragraph(entry.error) + element("p", "quiet", text("Code: ") + code(entry.error_code));
  }
  Markup content;
  if (entry.diagnosis) {
    const Markup diagnosis = diagnosis_section(id + "-inseparable", *entry.diagnosis);
    if (!diagnosis.is_empty()) content += heading(3, "Diagnosis") + diagnosis;
  }
  const bool leads = detail != CaseDetail::words && show_difference(entry);
  if (leads) content += pictures_of(id, entry);
  const Markup next = what_to_try(entry);
  if (!next.is_empty()) content += heading(3, "What to try next") + next;
  content += heading(3, "The contract");
  content += contract_section(entry.contract, entry.dimensions, entry.operands);
  content += outputs_table(entry) + errors_of(id, entry, detail);
  return detail == CaseDetail::words || leads ? content : content + pictures_of(id, entry);
}

}  // namespace gqa::html
