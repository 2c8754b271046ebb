#include "gqa/report/witness_report.hpp"

#include <fmt/format.h>

#include <cmath>

#include "gqa/io/contract_json.hpp"
#include "gqa/report/sizes_json.hpp"
#include "gqa/report/tolerance_json.hpp"
#include "gqa/version.hpp"

namespace gqa {
namespace {

using nlohmann::ordered_json;

std::string hexadecimal(std::uint64_t bits) {
  return fmt::format("{:x}", bits);
}

std::string hexadecimal(const std::vector<std::uint64_t>& bits) {
  std::string text;
  for (const std::uint64_t element : bits) {
    if (!text.empty()) text += ' ';
    text += hexadecimal(element);
  }
  return text;
}

// "-0x3p-1" is -3/2: an integer times a power of two, which an end of a ball and a double always
// are.
std::string dyadic(const Rational& value) {
  const mpz_class magnitude = abs(value.get_num());
  const std::size_t exponent = mpz_sizeinbase(value.get_den().get_mpz_t(), 2) - 1;
  return fmt::format("{}0x{}p-{}", value < 0 ? "-" : "", magnitude.get_str(16), exponent);
}

std::string dyadic(double value) {
  return std::isfinite(value) ? dyadic(rational_from_double(value)) : "inf";
}

ordered_json range(const Ball& ball) {
  if (!ball.is_finite()) return "unbounded";
  return {dyadic(ball.lower()), dyadic(ball.upper())};
}

ordered_json units_json(const PrecisionModel& model) {
  return {{"score", dyadic(model.score)},
          {"stored_score", dyadic(model.stored_score)},
          {"exponential", dyadic(model.exponential)},
          {"denominator", dyadic(model.denominator)},
          {"weight", dyadic(model.weight)},
          {"accumulation", dyadic(model.accumulation)},
          {"output", dyadic(model.output)},
          {"operand", dyadic(model.operand)},
          {"value", dyadic(model.value)},
          {"products_at_once", dyadic(model.products_at_once)},
          {"weight_underflow", dyadic(model.weight_underflow)},
          {"storage_underflow", dyadic(model.storage_underflow)},
          {"inner_underflow", dyadic(model.inner_underflow)},
          {"weights_scaled", model.weights_scaled},
          {"lambda", dyadic(model.lambda)}};
}

struct WitnessTolerance : StatedToleranceJson {
  bool narrow;

  explicit WitnessTolerance(bool is_narrow) : narrow(is_narrow) {}
  using StatedToleranceJson::operator();

  ordered_json operator()(const ModelTolerance& t) const {
    return {{"kind", "model"},
            {"model", t.model->name},
            {"units", units_json(*t.model)},
            {"accept", accepted_bound(t)},
            {"narrow", narrow}};
  }
};

const char* decision_word(Uncertain within) {
  if (!within.is_decided()) return "undecided";
  return within.certainly() ? "within" : "violation";
}

const char* demanded_word(double demanded) {
  if (std::isnan(demanded)) return "nan";
  if (std::isinf(demanded)) return demanded < 0 ? "-inf" : "inf";
  return "0";
}

// What was found of an element whose exact value is a number.
void add_numbers(ordered_json& json, const AuditedElement& found) {
  json["reference"] = range(*found.ball);
  if (std::isfinite(found.output)) {
    json["error"] = range(absolute_error(found.output, *found.ball));
  }
  json["allowed"] = {dyadic(found.allowed.lower), dyadic(found.allowed.upper)};
  if (!found.bounds) return;
  json["likely"] = range(found.bounds->likely);
  json["worst"] = range(found.bounds->worst);
}

ordered_json element_json(const WitnessElement& element) {
  ordered_json json = {{"column", element.column}, {"output", hexadecimal(element.output)}};
  if (!element.values.empty()) json["values"] = hexadecimal(element.values);
  const AuditedElement& found = element.audited;
  if (found.is_free) {
    json["demanded"] = "anything";
  } else if (found.demanded) {
    json["demanded"] = demanded_word(*found.demanded);
  } else if (found.ball) {
    add_numbers(json, found);
  }
  json["verdict"] = decision_word(found.decision.within);
  json["strength"] = name(found.decision.strength);
  return json;
}

std::string mask_text(const std::vector<std::optional<std::uint64_t>>& mask) {
  std::string text;
  for (const auto& entry : mask) {
    if (!text.empty()) text += ' ';
    text += entry ? hexadecimal(*entry) : "-";
  }
  return text;
}

ordered_json row_json(const WitnessRow& row, bool cache) {
  ordered_json json = {{"batch", row.batch}, {"head", row.head}, {"row", row.row}};
  if (!cache) {
    json["kv_head"] = row.kv_head;
    if (row.length) json["length"] = *row.length;
    json["visible"] = row.visible;
    if (row.sink) json["sink"] = hexadecimal(*row.sink);
    if (row.slope) json["slope"] = hexadecimal(*row.slope);
    if (!row.mask.empty()) json["mask"] = mask_text(row.mask);
    json["query"] = hexadecimal(row.query);
    json["keys"] = ordered_json::object();
    for (const WitnessKey& key : row.keys) {
      json["keys"][fmt::format("{}", key.index)] = hexadecimal(key.bits);
    }
  }
  json["elements"] = ordered_json::array();
  for (const WitnessElement& element : row.elements) {
    json["elements"].push_back(element_json(element));
  }
  return json;
}

ordered_json output_json_of(const OutputWitness& output) {
  ordered_json json = {{"name", output.name}, {"verdict", name(output.verdict)}};
  if (output.element_type.empty()) return json;
  json["format"] = output.element_type;
  if (output.name == "qk_matmul_output") json["mode"] = output.mode;
  const bool cache = output.name == "present_key" || output.name == "present_value";
  if (!cache) json["tolerance"] = std::visit(WitnessTolerance{output.narrow}, output.tolerance);
  json["rows"] = ordered_json::array();
  for (const WitnessRow& row : output.rows) json["rows"].push_back(row_json(row, cache));
  return json;
}

ordered_json case_witness_json(const AuditCase& from) {
  ordered_json json = {{"path", from.path}, {"verdict", name(from.verdict)}};
  if (!from.witness) {
    json["message"] = from.error;
    return json;
  }
  if (from.witness->document) json["document"] = *from.witness->document;
  json["contract"] = to_json(from.contract);
  json["sizes"] = sizes_json(from.dimensions);
  json["types"] = ordered_json::object();
  for (const auto& [operand, type] : from.witness->element_types) json["types"][operand] = type;
  json["outputs"] = ordered_json::array();
  for (const OutputWitness& output : from.witness->outputs) {
    json["outputs"].push_back(output_json_of(output));
  }
  return json;
}

}  // namespace

ordered_json witness_json(const std::vector<AuditCase>& cases) {
  ordered_json json;
  json["schema"] = "gqaverify.witness/1";
  json["version"] = version;
  json["cases"] = ordered_json::array();
  for (const AuditCase& from : cases) json["cases"].push_back(case_witness_json(from));
  return json;
}

std::string witness_text(const std::vector<AuditCase>& cases) {
  return witness_json(cases).dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace gqa
