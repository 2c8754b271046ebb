#include <fmt/format.h>

#include <limits>

#include "gqa/io/contract_json.hpp"
#include "gqa/report/audit_report.hpp"
#include "gqa/report/diagnosis_report.hpp"
#include "gqa/report/identified_report.hpp"
#include "gqa/report/number_json.hpp"
#include "gqa/report/sizes_json.hpp"
#include "gqa/report/tolerance_json.hpp"
#include "gqa/report/verdict_words.hpp"
#include "gqa/version.hpp"

namespace gqa {
namespace {

using nlohmann::ordered_json;

ordered_json bounds_json(const Bounds& bounds) {
  return {{"lower", number_json(bounds.lower)}, {"upper", number_json(bounds.upper)}};
}

// Certified ends as text with all their digits, as text.
ordered_json reference_json(const Bounds& bounds) {
  return {{"lower", fmt::format("{:.17g}", bounds.lower)},
          {"upper", fmt::format("{:.17g}", bounds.upper)}};
}

struct ToleranceJson : StatedToleranceJson {
  using StatedToleranceJson::operator();
  ordered_json operator()(const ModelTolerance& t) const {
    ordered_json json = {{"kind", "model"},
                         {"model", t.model->name},
                         {"lambda", t.model->lambda},
                         {"accept", accepted_bound(t)}};
    // The model was chosen: the last one tried is the one that explains a pass.
    if (!t.tried.empty()) json["tried"] = ordered_json::array();
    for (const PrecisionModel* tried : t.tried) json["tried"].push_back(tried->name);
    return json;
  }
};

ordered_json worst_json(const WorstElement& worst) {
  return {{"index", worst.index},
          {"output", fmt::format("{:.17g}", worst.output)},
          {"reference", reference_json(worst.reference)},
          {"off_by", number_json(worst.is_measured() ? worst.absolute_error.upper
                                                     : std::numeric_limits<double>::quiet_NaN())},
          {"allowed", number_json(worst.allowed.upper)},
          {"ulp", number_json(worst.is_measured() ? worst.ulp_error.upper
                                                  : std::numeric_limits<double>::quiet_NaN())},
          {"within", worst.within.certainly()}};
}

ordered_json nulls_json(const NullCounts& nulls) {
  ordered_json refuted;
  for (const NullOutput null : null_outputs) refuted[word(null)] = nulls.refuted_in(null);
  return {{"rows", nulls.rows}, {"refuted", refuted}};
}

// What was shown of an output, and which model of all decides it.
void add_meaning(ordered_json& json, const OutputAudit& output) {
  const AuditTally& tally = output.result.tally;
  json["largest_share"] = number_json(tally.max_share);
  json["null_outputs"] = nulls_json(tally.nulls);
  json["shows_nothing"] = output.result.shows_nothing;
  if (output.explained_by != nullptr) json["explained_by"] = output.explained_by->name;
  const std::string reason = nothing_shown_text(output);
  if (!reason.empty()) json["reason"] = reason;
}

// `output` has its figures in the case itself; of the others the worst are told here.
ordered_json output_json(const OutputAudit& output) {
  const AuditTally& tally = output.result.tally;
  ordered_json json = {{"name", output.name},
                       {"verdict", name(output.result.verdict)},
                       {"elements", tally.elements},
                       {"violations", tally.violations},
                       {"tolerance", std::visit(ToleranceJson{}, output.tolerance)}};
  add_meaning(json, output);
  if (output.name == "output") return json;
  json["undecided"] = tally.undecided;
  json["strength"] = name(output.result.strength);
  json["worst"] = ordered_json::array();
  for (const WorstElement& worst : tally.worst) json["worst"].push_back(worst_json(worst));
  json["where"] = output.result.where;
  return json;
}

// What is wrong, where, and what to try: before every figure.
void add_findings(ordered_json& entry, const AuditCase& from) {
  if (from.diagnosis) entry["diagnosis"] = diagnosis_json(*from.diagnosis);
  entry["violations"] = from.result->tally.violations;
  entry["strength"] = name(from.result->strength);
  entry["where"] = from.result->where;
  if (from.fits) entry["fits"] = identified_json(*from.fits);
  if (from.lse_fits) {
    entry["lse_fits"] = {{"lse_base", name(from.lse_fits->base)},
                         {"lse_empty", name(from.lse_fits->empty)}};
  }
}

void add_result(ordered_json& entry, const AuditCase& from) {
  const AuditTally& tally = from.result->tally;
  entry["contract"] = to_json(from.contract);
  entry["sizes"] = sizes_json(from.dimensions);
  entry["types"] = {{"inputs", from.input_type}, {"output", from.element_type}};
  if (!from.not_finite.empty()) entry["not_finite"] = from.not_finite;
  if (from.sample) {
    entry["sample"] = {
        {"rows", from.sample->rows}, {"of", from.sample->of}, {"seed", from.sample->seed}};
  }
  entry["elements"] = tally.elements;
  entry["decided_by"] = {{"filter", tally.decided_by_filter},
                         {"enclosure", tally.decided_by_enclosure},
                         {"exact", tally.decided_exactly}};
  // A contradiction ends the program: a report is one without.
  entry["self_check"] = {{"rows", tally.self_checked}, {"contradictions", 0}};
  entry["undecided"] = tally.undecided;
  entry["error"] = {{"max_abs", bounds_json(tally.max_absolute_error)},
                    {"max_ulp", bounds_json(tally.max_ulp_error)},
                    {"mean_ulp", number_json(tally.mean_ulp())}};
  entry["tolerance"] = std::visit(ToleranceJson{}, from.tolerance);
  entry["outputs"] = ordered_json::array();
  for (const OutputAudit& output : from.outputs) {
    entry["outputs"].push_back(output_json(output));
  }
  entry["worst"] = ordered_json::array();
  for (const WorstElement& worst : tally.worst) entry["worst"].push_back(worst_json(worst));
}

}  // namespace

ordered_json case_json(const AuditCase& from) {
  ordered_json entry;
  entry["path"] = from.path;
  entry["verdict"] = name(from.verdict);
  if (from.result) {
    add_findings(entry, from);
    add_result(entry, from);
  } else {
    entry["message"] = from.error;
    entry["code"] = from.error_code;
  }
  return entry;
}

ordered_json audit_json(const std::vector<AuditCase>& cases) {
  ordered_json json;
  json["schema"] = "gqaverify.audit/1";
  json["version"] = version;
  json["cases"] = ordered_json::array();
  for (const AuditCase& from : cases) json["cases"].push_back(case_json(from));
  const AuditSummary s = summarise(cases);
  json["summary"] = {
      {"pass", s.pass}, {"fail", s.fail}, {"undecided", s.undecided}, {"error", s.error}};
  return json;
}

}  // namespace gqa
