// gqaverify attain: which outputs a query with finite scores can reach.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "cluster.hpp"
#include "command.hpp"
#include "gqa/error.hpp"
#include "gqa/exact/json_fields.hpp"
#include "gqa/io/file.hpp"
#include "gqa/io/json.hpp"
#include "gqa/report/attain_report.hpp"
#include "gqa/theory/exact_input.hpp"
#include "output.hpp"

namespace gqa::program {
namespace {

struct AttainOptions {
  std::string file;
  std::string values;
  std::string point;
  std::string keys;
  std::string certificate;
  std::string json;
};

AttainQuestion question_from_file(const std::string& path) {
  const nlohmann::json document = parse_json_strictly(read_text_file(path), path);
  require_moderate_exponents(document, path);
  fixture_reader.require_known(document, {"values", "point", "keys"}, path, fixture_format);
  const auto place = [&path](const char* field) { return path + ": " + field; };
  AttainQuestion question;
  question.values = to_matrix(
      tensor_from_json(fixture_reader.required(document, "values", path), 2, place("values")));
  question.point = to_vector(
      tensor_from_json(fixture_reader.required(document, "point", path), 1, place("point")));
  if (document.contains("keys")) {
    question.keys = to_matrix(tensor_from_json(document["keys"], 2, place("keys")));
  }
  return question;
}

AttainQuestion question_from_flags(const AttainOptions& options) {
  AttainQuestion question;
  question.values = parse_matrix(options.values, "--values");
  question.point = parse_vector(options.point, "--point");
  if (!options.keys.empty()) question.keys = parse_matrix(options.keys, "--keys");
  return question;
}

ExitStatus run_attain(const AttainOptions& options) {
  const AttainQuestion question =
      options.file.empty() ? question_from_flags(options) : question_from_file(options.file);
  const AttainReport report = attain_report(question);
  if (!options.certificate.empty() && !report.certificate.is_null()) {
    write_file_atomically(options.certificate, report.certificate.dump(1) + "\n");
  }
  write_results(attain_text(report), attain_json(report), options.json);
  switch (report.reach) {
    case Reach::reachable:
      return all_holds;
    case Reach::unreachable:
      return decided_wrong;
    case Reach::undecided:
      break;
  }
  return undecided;
}

}  // namespace

Command add_attain(CLI::App& program) {
  auto options = std::make_shared<AttainOptions>();
  CLI::App* app = program.add_subcommand(
      "attain", "Whether a query with finite scores can reach an output, with a certificate");
  app->footer(
      "Exit status: 0 it can, 1 it cannot, 2 not decided (only with keys).\n"
      "Example: gqaverify attain --values '4,0;0,8' --point 3,2 --keys '1,0;0,1'");
  CLI::Option* file = app->add_option(
      "FILE", options->file, "JSON with values [N, d], point [d] and, optionally, keys [N, dk]");
  CLI::Option* values =
      app->add_option("--values", options->values, "One row for each key")->excludes(file);
  app->add_option("--point", options->point, "The output")->excludes(file);
  app->add_option("--keys", options->keys, "Only scores that a query gives against these keys")
      ->excludes(file);
  app->callback([app, file, values] {
    if (file->count() > 0) return;
    if (values->count() == 0) throw CLI::RequiredError("FILE or --values");
    if (app->count("--point") == 0) throw CLI::RequiredError("--point");
  });
  app->add_option("--certificate", options->certificate, "Write the certificate to FILE")
      ->type_name("FILE");
  app->add_option("--json", options->json, "Write JSON to FILE, - for standard output")
      ->type_name("FILE");
  return {app, [options](Cluster&) { return run_attain(*options); }};
}

}  // namespace gqa::program
