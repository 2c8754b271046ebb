// gqaverify check: re-verifies certificates.
#include <fmt/format.h>

#include <memory>

#include "cluster.hpp"
#include "command.hpp"
#include "gqa/error.hpp"
#include "gqa/printable.hpp"
#include "gqa/theory/certificate.hpp"
#include "one_case.hpp"
#include "output.hpp"

namespace gqa::program {
namespace {

struct CheckOptions {
  std::vector<std::string> paths;
  std::string json;
};

// A file that is no certificate is named, and the others are checked all the same.
struct Checked {
  CertificateVerdict verdict;
  std::string error;  // "what [code]" of bad input

  const char* word() const {
    if (!error.empty()) return "error";
    return verdict.verified ? "verified" : "rejected";
  }
};

Checked checked(const std::string& path) {
  Checked result;
  with_errors_of(
      path, [&] { result.verdict = check_certificate_file(path); },
      [&](const InputError& error) {
        result.error = fmt::format("{} [{}]", error.what(), error.code());
      });
  return result;
}

nlohmann::ordered_json to_json(const std::string& path, const Checked& checked) {
  const CertificateVerdict& verdict = checked.verdict;
  return {{"path", path},
          {"kind", verdict.kind},
          {"verdict", checked.word()},
          {"statement", verdict.statement},
          {"reason", checked.error.empty() ? verdict.reason : checked.error}};
}

ExitStatus run_check(const CheckOptions& options) {
  nlohmann::ordered_json json{{"schema", "gqaverify.check/1"}};
  json["certificates"] = nlohmann::ordered_json::array();
  std::string text;
  std::size_t verified = 0;
  bool malformed = false;
  for (const std::string& path : options.paths) {
    const Checked result = checked(path);
    const bool holds = result.error.empty() && result.verdict.verified;
    if (holds) ++verified;
    malformed = malformed || !result.error.empty();
    // An error's text begins with the path already.
    text +=
        result.error.empty()
            ? fmt::format("{}: {} {}: {}\n", printable_line(path), result.word(),
                          printable_line(result.verdict.kind),
                          printable_line(holds ? result.verdict.statement : result.verdict.reason))
            : fmt::format("error: {}\n", result.error);
    json["certificates"].push_back(to_json(path, result));
  }
  const bool all = verified == options.paths.size() && verified > 0;
  text += fmt::format("{} of {} certificates: {}\n", verified, options.paths.size(),
                      all ? "verified" : "NOT VERIFIED");
  json["summary"] = {{"certificates", options.paths.size()}, {"verified", verified}};
  write_results(text, json, options.json);
  if (all) return all_holds;
  return malformed ? bad_input : decided_wrong;
}

}  // namespace

Command add_check(CLI::App& program) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* app =
      program.add_subcommand("check", "Re-verifies certificates with rational arithmetic alone");
  app->footer("Example: gqaverify check certificate.json");
  app->add_option("CERTIFICATE", options->paths, "Certificate files")->required();
  app->add_option("--json", options->json, "Write JSON to FILE, - for standard output")
      ->type_name("FILE");
  return {app, [options](Cluster&) { return run_check(*options); }};
}

}  // namespace gqa::program
