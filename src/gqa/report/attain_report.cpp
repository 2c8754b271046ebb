#include "gqa/report/attain_report.hpp"

#include <fmt/format.h>

#include "gqa/report/number_json.hpp"
namespace gqa {
namespace {

const char* word(Reach reach) {
  switch (reach) {
    case Reach::reachable:
      return "reachable";
    case Reach::unreachable:
      return "unreachable";
    case Reach::undecided:
      break;
  }
  return "undecided";
}

std::string witness_text(const nlohmann::ordered_json& certificate) {
  if (certificate.is_null()) return {};
  std::string text;
  if (certificate.contains("weights")) {
    text += fmt::format("weights {}\n", list_text(certificate["weights"]));
  }
  if (certificate.contains("lower_weights")) {
    text += fmt::format(
        "weights {} and {} reach the point; the product of weights to the powers {}, which is 1 "
        "for every query, is at most 1 for the former and at least 1 for the latter\n",
        list_text(certificate["lower_weights"]), list_text(certificate["upper_weights"]),
        list_text(certificate["relation"]));
  } else if (certificate.contains("relation")) {
    text += fmt::format("the product of weights to the powers {} is 1 for every query, not here\n",
                        list_text(certificate["relation"]));
  }
  if (certificate.contains("normal")) {
    text += fmt::format(
        "with normal {} and offset {}, the values are at {}, the point is at {}: "
        "no positive weights reach it\n",
        list_text(certificate["normal"]), certificate["offset"].get<std::string>(),
        list_text(certificate["value_sides"]), certificate["point_side"].get<std::string>());
  }
  return text;
}

}  // namespace

AttainReport attain_report(const AttainQuestion& question) {
  AttainReport report;
  report.question = question;
  if (question.keys) {
    KeyReachability found = key_reachability(question.values, *question.keys, question.point);
    report.reach = found.reach;
    report.reason = std::move(found.reason);
    report.certificate = std::move(found.certificate);
    return report;
  }
  const Attainability found = attainability(question.values, question.point);
  report.reach = found.attainable ? Reach::reachable : Reach::unreachable;
  report.reason = found.attainable ? "positive weights reach it" : "no positive weights reach it";
  report.certificate = certificate_of(found, question.values, question.point);
  return report;
}

std::string attain_text(const AttainReport& report) {
  std::string point = "(";
  for (const Rational& x : report.question.point) {
    point += (point.size() > 1 ? ", " : "") + to_text(x);
  }
  return fmt::format("{}) is {} by {}: {}\n{}", point, word(report.reach),
                     report.question.keys ? "a query against these keys" : "finite scores",
                     report.reason, witness_text(report.certificate));
}

nlohmann::ordered_json attain_json(const AttainReport& report) {
  return {{"schema", "gqaverify.attain/1"},
          {"verdict", word(report.reach)},
          {"reason", report.reason},
          {"certificate", report.certificate}};
}

}  // namespace gqa
