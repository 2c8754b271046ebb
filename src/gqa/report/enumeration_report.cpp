#include "gqa/report/enumeration_report.hpp"

#include <fmt/format.h>

namespace gqa {

std::string enumeration_text(const EnumerationReport& report) {
  const EnumerationResult& result = report.result;
  const std::string alarms = result.false_alarms == 0
                                 ? "no false alarm"
                                 : fmt::format("{} false alarm{}", result.false_alarms,
                                               result.false_alarms == 1 ? "" : "s");
  std::string text = fmt::format(
      "Hq = 1..{}, every divisor Hkv: {} pairs, {} weight fixtures each ({} engine)\n"
      "{} of {} cases equal: direct lookup and consecutive expansion agree exactly\n"
      "{} of {} controls detected: the map h mod Hkv is told apart wherever it differs\n"
      "{} cases where both maps coincide: {}\n",
      result.max_heads, result.pairs, result.fixtures, report.engine, result.equal, result.cases,
      result.detected, result.map_differs, result.map_coincides, alarms);
  for (const std::string& failure : result.failures) text += "  FAILED " + failure + "\n";
  text += fmt::format("{} in {:.1f} ms\n", result.holds() ? "verified" : "NOT VERIFIED",
                      report.seconds * 1e3);
  return text;
}

nlohmann::ordered_json enumeration_json(const EnumerationReport& report) {
  const EnumerationResult& result = report.result;
  nlohmann::ordered_json json;
  json["schema"] = "gqaverify.enumerate/1";
  json["max_heads"] = result.max_heads;
  json["pairs"] = result.pairs;
  json["fixtures"] = result.fixtures;
  json["cases"] = result.cases;
  json["equal"] = result.equal;
  json["controls"] = {{"map_differs", result.map_differs},
                      {"map_coincides", result.map_coincides},
                      {"detected", result.detected}};
  json["engine"] = report.engine;
  json["seconds"] = report.seconds;
  json["failures"] = result.failures;
  return json;
}

}  // namespace gqa
